# frozen_string_literal: true

# What this process has used so far. Differences of two of them are what lay between.
class Usage
  FIELDS = %i[cpu wall gc_count gc_major gc_time objects switches resident].freeze

  def self.now = new

  attr_reader(*FIELDS)

  def initialize
    @gc_count = GC.count
    @gc_major = GC.stat(:major_gc_count)
    @gc_time = GC.total_time / 1e9
    @objects = GC.stat(:total_allocated_objects)
    @switches = switches_of_all_threads
    @resident = Usage.memory.first
    @wall = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    @cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) # all threads, Ruby's and others
  end

  def since(before) = FIELDS.to_h { |field| [field, public_send(field) - before.public_send(field)] }

  # What is in memory now, and the most there ever was, in bytes.
  def self.memory
    status = File.read("/proc/self/status")
    %w[VmRSS VmHWM].map { |field| status[/^#{field}:\s*(\d+)/, 1].to_i * 1024 }
  rescue SystemCallError
    [0, 0] # not Linux
  end

  private

  # Each time a thread waited of its own will: the wake-ups of a process that sleeps.
  def switches_of_all_threads
    Dir.glob("/proc/self/task/*/status").sum do |path|
      File.read(path)[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i
    rescue SystemCallError
      0 # the thread has just ended
    end
  end
end
