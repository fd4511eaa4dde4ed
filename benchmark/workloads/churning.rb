# frozen_string_literal: true

require "objspace"

# A program that never does the same twice: methods by eval, singleton methods, classes reloaded, threads and labels by
# the request. Whatever a profiler keeps of it, it keeps for ever, unless it lets go.
class Churning
  REQUESTS = 20 # a window
  WORK = 0.002  # seconds each method runs

  def initialize
    @kept = ObjectSpace::WeakMap.new
    @number = 0
  end

  # @param count [Integer] windows
  def run(count)
    sizes = []
    bytes = []
    count.times do |window|
      REQUESTS.times { Thread.new { request(@number += 1) }.join }
      close_window
      next unless window % 5 == 4

      GC.start
      sizes << [window + 1, Usage.memory.first]
      bytes << encoded
    end
    { sizes:, bytes:, alive: alive }
  end

  private

  def request(number)
    labelled(number) do
      reload(number).new.work(now + WORK)
      object = Object.new
      object.define_singleton_method(:work) { |until_time| nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_time }
      object.work(now + WORK)
      @kept[object] = true
    end
  end

  def reload(number)
    Object.send(:remove_const, :Reloaded) if Object.const_defined?(:Reloaded)
    Object.class_eval(<<~RUBY, "reloaded_#{number}.rb")
      class Reloaded
        def work(until_time) = step_#{number}(until_time)
        def step_#{number}(until_time) = (nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_time)
      end
    RUBY
    Reloaded
  end

  def labelled(number, &)
    profiled? ? RperfPush.label(request: number, &) : yield
  end

  def close_window = (RperfPush.flush if profiled?)
  def encoded = profiled? ? RperfPush.stats[:bytes_encoded] : 0
  def profiled? = defined?(RperfPush.running?) && RperfPush.running?

  def alive
    4.times { GC.start }
    @kept.size
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
