# frozen_string_literal: true

# Ractors that collect garbage and run finalizers, while the main one works: jobs of the main one may run on their threads.
class Ractors
  # @param count [Numeric] seconds
  def run(count)
    Warning[:experimental] = false
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    others = Array.new(2) { |seed| Ractor.new(finish, seed) { |until_time, _| Ractors.collect(until_time) } }
    allocate until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
    others.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
  end

  def self.collect(until_time)
    until Process.clock_gettime(Process::CLOCK_MONOTONIC) > until_time
      100.times { ObjectSpace::WeakMap.new[Object.new] = Object.new }
      GC.start(full_mark: false)
    end
  end

  private

  def allocate = Array.new(2_000) { |i| "a#{i}" }.each(&:to_sym)
end
