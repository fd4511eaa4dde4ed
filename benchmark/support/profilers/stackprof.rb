# frozen_string_literal: true

require_relative "../profiler"

class StackprofProfiler < Profiler
  def load = require("stackprof")
  def start = StackProf.start(mode: @options.fetch(:mode, :cpu), interval: interval_us)
  def stop = StackProf.stop

  def self_times
    StackProf.results[:frames].values.each_with_object(Hash.new(0)) { |frame, sums| sums[frame[:name]] += frame[:samples] }
  end
end
