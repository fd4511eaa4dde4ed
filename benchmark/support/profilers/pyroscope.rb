# frozen_string_literal: true

require_relative "../profiler"

# Pyroscope's own client for Ruby, sending to the sink every ten seconds.
class PyroscopeProfiler < Profiler
  def load = require("pyroscope")

  def start
    Pyroscope.configure do |config|
      config.application_name = "benchmark"
      config.server_address = @sink
      config.sample_rate = @hz
      config.oncpu = @options.fetch(:mode, :cpu) == :cpu
    end
  end

  def stop = Pyroscope.shutdown
end
