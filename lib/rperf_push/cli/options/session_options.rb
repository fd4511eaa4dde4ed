# frozen_string_literal: true

require_relative "../.."
require_relative "../errors"

module RperfPush
  module CLI
    # The options that every command has that begins a session.
    module SessionOptions
      module_function

      # @param command [String] for the message
      # @param text [#to_s] such as cpu,wall
      # @return [Array<String>]
      def modes(command, text)
        known = StartOptions::MODES.keys.map(&:to_s)
        wanted = text.to_s.split(/[,+]/).map { |name| StartOptions::ALIASES.fetch(name.to_sym, name).to_s }
        return wanted if wanted.any? && (wanted - known).empty?

        raise Error, "#{command}: mode must be #{known.join(", ")} or several as #{known.join(",")}, got #{text}"
      end

      # @return [Integer, nil] the same
      def alloc_interval(command, wanted)
        known = StartOptions::INTERVALS
        return wanted if wanted.nil? || known.cover?(wanted)

        raise Error, "#{command}: alloc-interval must be from #{known.min} to #{known.max}, got #{wanted}"
      end

      # @return [Integer] the same
      def frequency(command, wanted)
        known = StartOptions::FREQUENCIES
        return wanted if known.cover?(wanted)

        raise Error, "#{command}: frequency must be from #{known.min} to #{known.max}, got #{wanted}"
      end
    end
  end
end
