# frozen_string_literal: true

require_relative "many_frames"

# Minor GCs while a profiler knows many frames.
class MinorGcs < ManyFrames
  WAIT = 0.002

  def prepare
    super
    @known = false
  end

  # @param count [Integer] GCs; the first run makes the frames known
  def run(count)
    return meet_all_frames unless @known

    GC.disable
    times = Array.new(count) { time { GC.start(full_mark: false, immediate_sweep: true) } }
    GC.enable
    { microseconds: times.sort[count / 2] }
  end

  private

  def meet_all_frames
    ManyFrames.instance_method(:run).bind_call(self, WAIT)
    sleep(1) # names come at safepoints, a few at a time
    200.times { sleep(0.005) }
    4.times { GC.start } # what is kept becomes old
    @known = true
  end

  def time
    started = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_microsecond)
    yield
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_microsecond) - started
  end
end
