# frozen_string_literal: true

# A method that takes nearly all of the CPU time, called after C methods of objects of many classes, as JIT code leaves such calls
# to the interpreter.
class LeafAfterC
  OBJECTS = Array.new(25) { Class.new.new }

  # @param count [Numeric] seconds
  # @return [Hash] the true times
  def run(count)
    @spent = 0
    started = cpu_ns
    finish = started + (count * 1e9)
    OBJECTS.each { |object| ask(object) } while cpu_ns < finish
    { leaf: @spent, elsewhere: cpu_ns - started - @spent }
  end

  private

  def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

  def ask(object)
    object.frozen?
    object.hash
    before = cpu_ns
    40.times { object.hash && leaf(2_000) }
    @spent += cpu_ns - before
  end

  def leaf(count)
    i = 0
    i += 1 while i < count
    i
  end
end
