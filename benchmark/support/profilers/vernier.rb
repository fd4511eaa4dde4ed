# frozen_string_literal: true

require_relative "../profiler"

# Knows wall time only.
class VernierProfiler < Profiler
  def load = require("vernier")
  def start = Vernier.start_profile(mode: :wall, interval: interval_us)
  def stop = @result = Vernier.stop_profile

  def self_times
    table = @result.stack_table
    @result.threads.values.each_with_object(Hash.new(0)) do |thread, sums|
      thread[:samples].zip(thread[:weights]) do |stack, weight|
        sums[table.func_name(table.frame_func_idx(table.stack_frame_idx(stack)))] += weight
      end
    end
  end
end
