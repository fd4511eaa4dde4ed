# frozen_string_literal: true

require_relative "../profiler"

class RperfProfiler < Profiler
  def load = require("rperf")

  def start
    Rperf.start(frequency: @hz, mode: @options.fetch(:mode, :cpu), defer: @options.fetch(:defer, false))
    Rperf.profile { nil } if @options[:block]
  end

  def stop = @result = Rperf.stop

  def self_times
    @result[:aggregated_samples].each_with_object(Hash.new(0)) { |(frames, weight), sums| sums[frames.first.last] += weight }
  end
end
