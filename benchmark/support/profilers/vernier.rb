# frozen_string_literal: true

require_relative "../profiler"

# Knows wall time only; what it says of threads that have the GVL comes closest to CPU time.
class VernierProfiler < Profiler
  RUNNING = 0 # of its categories; the others are idle, and stalled for the GVL

  def load = require("vernier")
  def start = Vernier.start_profile(mode: :wall, interval: interval_us)
  def stop = @result = Vernier.stop_profile

  def self_times
    table = @result.stack_table
    @result.threads.values.each_with_object(Hash.new(0)) do |thread, sums|
      thread[:samples].zip(thread[:weights], thread[:sample_categories]) do |stack, weight, category|
        next unless category == RUNNING

        sums[table.func_name(table.frame_func_idx(table.stack_frame_idx(stack)))] += weight
      end
    end
  end
end
