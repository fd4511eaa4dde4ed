# frozen_string_literal: true

require "zlib"
require_relative "truth"

# Each task in terms of what a program may do. Their CPU time is on the thread that does them.
module Tasks
  LOCK = Mutex.new
  KEPT = []
  TEXT = Random.new(1).bytes(200_000).freeze

  module_function

  def compute(seconds)
    till = Truth.cpu + (seconds * 1e9)
    x = 0
    200.times { x += 1 } while Truth.cpu < till
    x
  end

  # In one method of C that keeps the GVL, again and again.
  def in_c(seconds)
    till = Truth.cpu + (seconds * 1e9)
    TEXT.unpack("C*").sum while Truth.cpu < till
  end

  # zlib works without the GVL.
  def off_gvl(seconds)
    till = Truth.cpu + (seconds * 1e9)
    Zlib.deflate(TEXT, 6) while Truth.cpu < till
  end

  def sleep(seconds) = Kernel.sleep(seconds)
  def pop(seconds) = Thread::Queue.new.pop(timeout: seconds)
  def condition(seconds) = Mutex.new.then { |lock| lock.synchronize { ConditionVariable.new.wait(lock, seconds) } }
  def mutex(seconds) = LOCK.synchronize { compute(seconds / 2).then { Kernel.sleep(seconds / 2) } }
  def read(seconds) = IO.pipe.then { |ends| ends.each { |one| one.sync = true }.first.wait_readable(seconds).then { ends.each(&:close) } }
  def allocate(number) = number.times { Object.new }
  def keep(number) = KEPT << Array.new(number) { Object.new }

  def raise(seconds)
    compute(seconds)
    deeper(20)
  rescue ArgumentError
    nil
  end

  def deeper(depth) = depth.zero? ? Kernel.raise(ArgumentError, "deep") : deeper(depth - 1)
  def evaluate(seconds) = eval("compute(seconds)", binding, __FILE__, __LINE__)

  # A fiber's stack begins with its block, so its method has the names of the task and of the thread.
  def fiber(seconds, inside)
    one = Fiber.new { inside.call(seconds / 2).then { Fiber.yield }.then { inside.call(seconds / 2) } }
    2.times { one.resume }
  end

  def many_sleeps(seconds)
    till = Truth.wall + (seconds * 1e9)
    Kernel.sleep(0.0005) while Truth.wall < till
  end

  # A label that stays.
  def mood(number) = defined?(RperfPush) && RperfPush.label(mood: number.to_s)
  def count(number) = defined?(RperfPush) && number.times { RperfPush.sample(3, name: "things") }
end
