# frozen_string_literal: true

require_relative "../../rperf_push"
require_relative "mistakes"

module RperfPush
  module CLI
    # The options that every command has that begins a session.
    module SessionOptions
      module_function

      # @param command [String] for the message
      # @param text [#to_s] such as cpu,wall
      # @return [Array<String>]
      def modes(command, text)
        known = OnDemand::MODES.keys.map(&:to_s)
        wanted = text.to_s.split(/[,+]/)
        return wanted if wanted.any? && (wanted - known).empty?

        raise Mistake, "#{command}: mode must be #{known.join(", ")} or #{known.join(",")}, got #{text}"
      end

      # @return [Integer] the same
      def frequency(command, wanted)
        known = OnDemand::FREQUENCIES
        return wanted if known.cover?(wanted)

        raise Mistake, "#{command}: frequency must be from #{known.min} to #{known.max}, got #{wanted}"
      end
    end
  end
end
