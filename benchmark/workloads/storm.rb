# frozen_string_literal: true

require_relative "../support/depth"

# The worst a program can do to a profiler: many threads, deep down the stack, that hand the GVL on all the time.
class Storm
  def initialize(threads: 50, depth: 500)
    @threads = threads
    @depth = depth
  end

  # @param count [Integer] turns of each thread
  def run(count)
    Array.new(@threads) { Thread.new { Depth.at(@depth) { turns(count) } } }.each(&:join)
  end

  private

  def turns(count)
    i = 0
    while i < count
      Thread.pass
      sleep(0) if i % 10 == 9
      i += 1
    end
  end
end
