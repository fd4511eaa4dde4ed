# frozen_string_literal: true

require_relative "../base/printable"

module RperfPush
  module CLI
    # All that commands write for people, to a terminal, a pipe or a file: one way, so that no name reaches a terminal as it is.
    module Printer
      module_function

      def out(*lines) = $stdout.puts(*lines.flatten.map { |line| Printable.text(line) })
      def err(*lines) = $stderr.puts(*lines.flatten.map { |line| Printable.text(line) })

      # @param text [String] with its newlines
      def write(text) = $stdout.write(Printable.text(text))

      # Bytes that are no text for a terminal: the page as one file, and the codes of `top`.
      def as_it_is(bytes) = $stdout.write(bytes)
    end
  end
end
