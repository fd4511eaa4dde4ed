# frozen_string_literal: true

module RperfPush
  # One line about the result of `configure`: what is profiled, how, and where profiles go, or why nothing is profiled.
  class StartLine
    HOW_TO = "RPERF_PUSH_ENABLED=true or config.enabled = true switches it on"

    def initialize(configuration)
      @configuration = configuration
      @defaults = configuration.defaults
    end

    # Standard error gets only problems.
    def say
      @configuration.usable_logger&.info("[rperf-push] #{text}")
    rescue StandardError
      nil
    end

    # @return [String]
    def text
      return "off: #{why_off}" unless Native.running?

      started = Native.started
      tick = RperfPush.stats[:kernel_tick_ns] / 1e6
      engine = started[:engine].to_s == "signal" ? "signal (the kernel ticks every #{format("%g", tick)} ms)" : started[:engine]
      format("%<application>s is profiled: backend %<backend>s at %<target>s, engine %<engine>s, %<frequency>d Hz, every %<interval>g s",
             started.merge(engine:))
    end

    private

    def why_off
      variable = ENV.fetch("RPERF_PUSH_ENABLED", "").strip
      return "enabled is false in the configuration" if @configuration.given.key?("enabled")
      return "RPERF_PUSH_ENABLED is #{variable}" unless variable.empty?

      "#{@defaults&.off_because} (#{HOW_TO})"
    end
  end
end
