# frozen_string_literal: true

# A program with many methods, made by eval, and as many stacks as wanted: who is called depends on the number of the
# stack, near the root on its hundreds only, so that stacks share their roots as real ones do. Each stack is seen by a
# profiler because a thread sleeps at its end for longer than a sampling period.
class ManyFrames
  SHARED_BELOW = 20
  THREADS = 16

  def initialize(methods: 20_000, stacks: 34_000, depth: 150)
    @methods = methods
    @stacks = stacks
    @depth = depth
    @names = Array.new(methods) { |number| :"m#{number}" }
  end

  def prepare
    @program = Class.new { def initialize(names) = @names = names }
    Object.const_set(:MadeProgram, @program)
    @methods.times.each_slice(500) { |numbers| @program.class_eval(numbers.map { |number| source(number) }.join("\n")) }
    4.times { GC.start }
  end

  # Comes by each of the stacks once.
  #
  # @param count [Numeric] how long each is stood on, in seconds
  def run(count)
    program = @program.new(@names)
    Array.new(THREADS) do |thread|
      Thread.new { thread.step(@stacks - 1, THREADS) { |stack| program.m0(stack, @depth - 2, count) } }
    end.each(&:join)
  end

  private

  def source(number)
    <<~RUBY
      def m#{number}(stack, level, wait)
        return sleep(wait) if level.zero?

        way = level > #{SHARED_BELOW} ? stack / 100 * 977 : stack * 31
        __send__(@names[(#{number} * 13 + way + level * 7) % #{@methods}], stack, level - 1, wait)
      end
    RUBY
  end
end
