# frozen_string_literal: true

# Frames that are left all at once, and stacks that are changed for others.
class Operations
  Oops = Class.new(StandardError)

  operation
  def raise_through_c
    [1, 2].each { |x| [x].map { raise Oops, "deep" } }
  rescue Oops => e
    e.message
  ensure
    work(2)
  end

  operation
  def raise_through_ensure
    begin
      begin
        [3, 1].sort_by { |x| x == 1 ? raise(Oops) : x }
      ensure
        work(1)
      end
    rescue Oops
      raise ArgumentError, "second"
    end
  rescue ArgumentError => e
    e.cause.class
  end

  operation
  def throw_through_c = catch(:done) { [1, 2].each { |x| [x].each_with_index { throw :done, x } } }

  operation
  def break_from_c = [[3, 1, 2].sort_by { |x| break x if x == 1; x }, [1, 2].each { |x| break x }, loop { break 3 }]

  operation
  def next_and_redo
    again = true
    [1, 2].map do |x|
      next 0 if x == 1
      again ? (again = false; redo) : x
    end
  end

  operation
  def retried
    tries = 0
    begin
      tries += 1
      Integer("x") if tries < 3
    rescue ArgumentError
      retry
    end
  end

  operation
  def return_from_block = [first_even([1, 2, 3]), first_even([1])]

  def first_even(list)
    list.each { |x| return x if x.even? }
    work(1)
  ensure
    work(1)
  end

  operation
  def stop_iteration
    e = [1, 2].each
    loop { e.next }
    e.size
  end

  operation
  def fibers
    f = Fiber.new { |x| y = Fiber.yield(x + 1); work(2); y }
    [f.resume(1), f.resume(5), f.alive?]
  end

  operation
  def fibers_in_fibers
    Fiber.new { Fiber.new { work(1); Fiber.yield; work(1) }.tap(&:resume).resume; [1].each { |x| Fiber.yield(x) } }.tap(&:resume).resume
  end

  operation
  def fiber_that_raises
    Fiber.new { [1].each { raise Oops } }.resume
  rescue Oops
    Fiber.new { Fiber.yield }.tap(&:resume).raise(Oops) rescue work(1)
  end

  operation
  def enumerator_outside = Enumerator.new { |y| y << 1 << 2; work(2) }.then { |e| [e.next, e.peek, e.next, (e.next rescue 0)] }

  operation
  def transferred
    a = nil
    b = Fiber.new { a.transfer(work(1)) }
    a = Fiber.new { |x| x ? x : b.transfer }
    a.transfer
  end

  operation turns: 5
  def threads
    [Thread.new { work(3) }, Thread.new { [1].each { Thread.pass } }].map(&:value)
  end

  operation turns: 5
  def thread_that_raises
    Thread.new { Thread.current.report_on_exception = false; raise Oops }.join
  rescue Oops
    Thread.new { Thread.exit }.join
  end

  operation turns: 5
  def thread_that_is_killed = Thread.new { sleep }.tap { |t| Thread.pass until t.stop?; t.kill; t.join }

  operation turns: 5
  def queue_between_threads
    queue = Queue.new
    Thread.new { 3.times { |i| queue << i } }
    Array.new(3) { queue.pop }
  end

  operation turns: 5
  def mutex_and_sleep
    lock = Mutex.new
    lock.synchronize { Thread.new { lock.synchronize { work(1) } }.tap { sleep 0.001 } }.join
  end

  # Near the end of the VM's stack, or of the machine's; the handler of the overflow jumps out of the steps.
  operation long: true, turns: 2, alone: true
  def endless_recursion
    recurse(0)
  rescue SystemStackError
    RperfPush::Native.sweep_again
    work(2)
  end

  def recurse(depth) = recurse(depth + 1) + 1

  operation long: true, turns: 2, alone: true
  def endless_recursion_in_c
    recurse_in_c([])
  rescue SystemStackError
    RperfPush::Native.sweep_again
    work(2)
  end

  def recurse_in_c(list) = [list].each { |x| recurse_in_c(x) }

  operation turns: 5
  def deep_recursion = down(600)

  def down(depth) = depth.zero? ? work(5) : down(depth - 1)
end
