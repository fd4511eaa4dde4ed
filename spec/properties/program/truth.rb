# frozen_string_literal: true

require "json"

# What is true, by clocks and counters that no profiler has a hand in. Times are in nanoseconds.
module Truth
  module_function

  def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  def cpu_of_all = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
  def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  def now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
  def objects = GC.stat(:total_allocated_objects)
  def say(**facts) = File.write(ENV.fetch("PROPERTIES_TRUTH"), "#{JSON.generate(facts)}\n", mode: "ab")

  # How long the thread has waited for a core.
  def delay = File.read("/proc/thread-self/schedstat").split[1].to_i

  # How often the thread has left its core.
  def switches = File.read("/proc/thread-self/status").scan(/ctxt_switches:\s+(\d+)/).sum { |number,| number.to_i }

  def resident_kb = File.read("/proc/self/status")[/^VmRSS:\s*(\d+)/, 1].to_i

  # @return [Array(Integer, Integer)] what the block took of the thread's clocks
  def took
    before = [cpu, wall]
    yield
    [cpu - before[0], wall - before[1]]
  end

  # The kernel ends a thread a little after Ruby has joined it.
  def surroundings_after(before)
    200.times do
      now = surroundings
      return now if now[:tasks] <= before[:tasks]

      sleep 0.02
    end
    surroundings
  end

  # What is there of the process, by the kernel and by Ruby.
  def surroundings
    { descriptors: Dir.children("/proc/self/fd").size, tasks: Dir.children("/proc/self/task").size, environment: ENV.to_h.hash,
      traps: %w[INT TERM USR1 USR2 PROF VTALRM CHLD].map { |name| File.read("/proc/self/status")[/^SigCgt:\s*(\h+)/, 1].hex[Signal.list[name] - 1] } }
  end
end
