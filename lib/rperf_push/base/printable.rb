# frozen_string_literal: true

module RperfPush
  # Text that a terminal shows and does not obey. Names, labels and files of a program can hold escape sequences, which would set a
  # terminal's title, clear it, or type for the user; bidirectional controls make a line read as another one.
  module Printable
    # C0, DEL and C1, bidirectional controls, and separators of lines.
    CONTROLS = /[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/
    IN_A_TEXT = /(?![\n\t])#{CONTROLS}/
    SHORT = { "\n" => '\n', "\t" => '\t' }.freeze

    module_function

    # @return [String] with lines and tabs as they are; controls as JSON escapes them, so that JSON stays the same document
    def text(text) = shown(text, IN_A_TEXT)

    # @return [String] one line: a name with a newline in it looks like no other row
    def line(text) = shown(text, CONTROLS)

    def shown(text, controls)
      text = text.to_s
      text = text.encoding == Encoding::BINARY || !text.valid_encoding? ? text.dup.force_encoding(Encoding::UTF_8) : text.encode(Encoding::UTF_8)
      text = text.scrub { |bytes| bytes.bytes.map { |byte| format('\x%02X', byte) }.join }
      text.gsub(controls) { |control| SHORT[control] || format('\u%04X', control.ord) }
    end
    private_class_method :shown
  end
end
