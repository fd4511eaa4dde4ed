# frozen_string_literal: true

require_relative "../profiler"

class Pf2Profiler < Profiler
  def load = require("pf2")
  def start = Pf2.start(interval_ms: (1000.0 / @hz).round, time_mode: @options.fetch(:mode, :cpu))
  def stop = @result = Pf2.stop

  # Ruby's frames only: most of the native ones have no names.
  def self_times
    locations, functions = @result.values_at(:locations, :functions)
    @result[:samples].each_with_object(Hash.new(0)) do |sample, sums|
      leaf = sample[:stack].first or next
      sums[functions[locations[leaf][:function_index]][:name]] += 1
    end
  end
end
