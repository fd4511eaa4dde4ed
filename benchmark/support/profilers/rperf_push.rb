# frozen_string_literal: true

require_relative "../profiler"

# Options: engine, mode, interval, overhead_limit, and to_files (into the folder instead of the sink).
class RperfPushProfiler < Profiler
  def load = require("rperf_push")

  def start
    RperfPush.configure! do |config|
      config.application_name = "benchmark"
      config.frequency = @hz
      config.engine = @options[:engine]
      config.mode = @options[:mode]
      config.upload_interval = @options[:interval]
      config.overhead_limit = @options[:overhead_limit]
      deliver_to(config)
    end
  end

  def stop = RperfPush.shutdown
  def stats = RperfPush.stats

  def self_times
    require_relative "../pprof"
    Dir.glob(File.join(@folder, "*.pb.gz")).map { |path| Pprof.self_times(File.binread(path), @options[:value] || "cpu") }
       .reduce { |all, more| all.merge(more) { |_, a, b| a + b } }
  end

  private

  def deliver_to(config)
    if @options[:to_files]
      config.backend = :directory
      config.directory = @folder
    else
      config.server_address = @sink
    end
  end
end
