# frozen_string_literal: true

require_relative "../support/depth"

# CPU time and nothing else, deep down the stack.
class Burning
  def initialize(depth: 1)
    @depth = depth
  end

  # @param count [Numeric] seconds
  def run(count)
    Depth.at(@depth) { burn(Process.clock_gettime(Process::CLOCK_MONOTONIC) + count) }
  end

  private

  def burn(until_time)
    i = 0
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_time
      i += 1 while i % 10_000 != 9_999
      i += 1
    end
  end
end
