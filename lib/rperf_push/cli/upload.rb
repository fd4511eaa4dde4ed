# frozen_string_literal: true

require_relative "settings"

module RperfPush
  module CLI
    # Sends one profile once, with the settings of this call.
    class Upload
      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
      end

      # @param bytes [String] gzip-compressed pprof
      # @param samples [Integer] the number of samples: some servers crash on a profile without samples
      # @param group [Integer] of its values, as of {ProfileGroups}; 0: process_cpu
      # @param over [Hash{String => Object}] options that override the settings
      # @return [Hash] as Native.deliver returns it
      # @raise [Error] if the settings are wrong
      def deliver(bytes, time_ns:, duration_ns:, samples:, group: 0, **over)
        given, texts = inputs(over)
        checked(Native.deliver(given, texts, bytes, time_ns, duration_ns, samples, group))
      end

      # @return [Boolean] whether the server keeps values of one group in a profile
      # @raise [Error] if the settings are wrong
      def one_group? = checked(Native.one_group?(*inputs({})))

      # @return [String] gzip-compressed pprof
      def tiny_profile
        checked(Native.tiny_profile(*inputs({})))
      end

      private

      def inputs(over)
        given = @settings.given.merge(over.transform_keys(&:to_s))
        [given, @settings.texts.except(*given.keys)]
      end

      def checked(result)
        raise Error, result.join("\n") if result.is_a?(Array)

        result
      end
    end
  end
end
