# frozen_string_literal: true

require_relative "../profiler"

# Pyroscope's own client for Ruby, sending to the sink every ten seconds.
class PyroscopeProfiler < Profiler
  def load = require("pyroscope")

  # With own_sink what it sends is kept, for self_times.
  def start
    keep_what_is_sent if @options[:own_sink]
    Pyroscope.configure do |config|
      config.application_name = "benchmark"
      config.server_address = @sink
      config.sample_rate = @hz
      config.oncpu = @options.fetch(:mode, :cpu) == :cpu
    end
  end

  def stop = Pyroscope.shutdown

  def self_times
    require_relative "../pprof"
    sleep(0.1) until @kept.bodies.any?
    @kept.bodies.flat_map { |body| Pprof.in_push_request(body) }.map { |profile| Pprof.self_times(profile, "cpu") }
         .reduce { |all, more| all.merge(more) { |_, a, b| a + b } }
  end

  private

  def keep_what_is_sent
    require_relative "../sink"
    @kept = Sink.new(keep: true)
    @sink = @kept.url
  end
end
