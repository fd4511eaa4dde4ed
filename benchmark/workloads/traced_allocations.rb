# frozen_string_literal: true

require "objspace"

# Another tool sees each allocation, and the GC runs within its hook, compaction included.
class TracedAllocations
  # @param count [Numeric] seconds
  def run(count)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    GC.auto_compact = true
    ObjectSpace.trace_object_allocations { allocate until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish }
  ensure
    GC.auto_compact = false
  end

  private

  def allocate
    kept = Array.new(1_000) { |i| { i => i.to_s } }
    kept.each { |one| one.transform_values(&:to_sym) }
  end
end
