# frozen_string_literal: true

require_relative "../profiler"

# Datadog's profiler, as far as it runs without its agent: what it wants to send goes nowhere. It chooses its rate itself.
class DatadogProfiler < Profiler
  def load
    ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
    require "datadog"
  end

  def start
    Datadog.configure do |config|
      config.logger.instance = Logger.new(File::NULL)
      config.tracing.enabled = false
      config.profiling.enabled = true
      config.agent.host = "127.0.0.1"
      config.agent.port = 1
    end
    Datadog::Profiling.start_if_enabled or raise "its profiler does not start"
  end

  def stop = Datadog.shutdown!
end
