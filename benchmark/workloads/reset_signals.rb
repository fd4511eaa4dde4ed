# frozen_string_literal: true

# A worker that gives all signals back to the system, as some servers do after a fork, and then works.
class ResetSignals
  KEPT = %w[EXIT KILL STOP SEGV BUS ILL FPE VTALRM INT TERM CHLD CLD].freeze

  # @param count [Numeric] seconds
  # @return [Hash] the true times
  def run(count)
    (Signal.list.keys - KEPT).each { |name| reset(name) }
    before = cpu_ns
    work(before + (count * 1e9))
    { work: cpu_ns - before }
  end

  private

  def reset(name)
    trap(name, "DEFAULT")
  rescue ArgumentError
    nil # reserved
  end

  def cpu_ns = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

  def work(finish)
    i = 0
    i += 1 while i % 10_000 != 0 || cpu_ns < finish
  end
end
