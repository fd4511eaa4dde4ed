# frozen_string_literal: true

require_relative "many_frames"

# Fills windows with frames and stacks, then lets them be closed while a thread does nothing else that could be in the
# way: how long was the GVL held by jobs, and what was allocated?
class Rotating < ManyFrames
  WAIT = 0.002

  # @param window [Numeric] seconds
  def initialize(window:, **program)
    super(**program)
    @window = window
  end

  def prepare
    require ENV.fetch("LD_PRELOAD")
    super
  end

  def run(_count)
    super(WAIT)
    first = watch(1.5) # all frames are met, and named
    super(WAIT)
    steady = watch(1.5)
    { first:, steady:, forgetting: watch(5) } # no frame is seen any more: they are let go of
  end

  private

  # @return [Hash] of the jobs since the last one, and of so many windows that follow
  def watch(windows)
    until_time = now + (@window * windows * 1e9).to_i
    objects = GC.stat(:total_allocated_objects)
    spin while now < until_time
    objects = GC.stat(:total_allocated_objects) - objects
    JobWatch.take.merge(objects:)
  end

  def spin
    i = 0
    i += 1 while i < 1000
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end
