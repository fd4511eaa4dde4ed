# frozen_string_literal: true

require "json"
require "rperf_push"

# What a profiled program says of itself, by clocks that have nothing to do with the profiler's. Times in nanoseconds.
module Truth
  CLOCK_OF_TASK = ->(tid) { (~tid << 3) | 6 } # as the kernel encodes "CPU time of the thread with this id"
  TASKS = -> { Dir.children("/proc/self/task").map(&:to_i) }
  VM_TASKS = TASKS.call - [Process.pid] # its timer thread

  @facts = Hash.new(0)

  class << self
    def [](name) = @facts[name.to_s]

    def []=(name, value)
      @facts[name.to_s] = value
    end

    def thread_cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    def process_cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
    def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

    # Adds the CPU time that this thread spends in the block.
    def spend(name)
      before = thread_cpu
      yield
    ensure
      self[name] += thread_cpu - before
    end

    # Runs the block profiled, from the first nanosecond to the last.
    def profile(**changes)
      started = RperfPush.configure! { |config| OPTIONS.merge(changes).each { |name, value| config.public_send(:"#{name}=", value) } }
      began = readings
      yield
    ensure
      if started
        readings.each { |name, value| self[name] = value - began[name] }
        @facts["stats"] = RperfPush.stats
        RperfPush.shutdown
      end
    end

    def write
      File.write(ENV.fetch("TRUTH_FILE"), JSON.generate(@facts))
    end

    private

    def readings
      { "ruby_cpu" => process_cpu - others_cpu, "wall" => wall }
    end

    # Of threads that are none of the program's: the profiler's and the VM's own.
    def others_cpu
      TASKS.call.sum do |tid|
        next 0 unless VM_TASKS.include?(tid) || File.read("/proc/self/task/#{tid}/comm").start_with?("rpp-")

        Process.clock_gettime(CLOCK_OF_TASK.call(tid), :nanosecond)
      rescue Errno::ENOENT, Errno::ESRCH
        0 # a thread of the program, at its end
      end
    end
  end

  OPTIONS = JSON.parse(ENV.fetch("PROFILE_OPTIONS"))
end

at_exit { Truth.write }
