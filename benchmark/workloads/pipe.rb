# frozen_string_literal: true

require_relative "../support/depth"

# A byte into a pipe and out again: each turn lets go of the GVL twice, deep down the stack.
class Pipe
  RELEASES_EACH = 2

  def initialize(depth: 100)
    @depth = depth
    @reader, @writer = IO.pipe
  end

  def run(count)
    Depth.at(@depth) { turn(count) }
  end

  private

  def turn(count)
    buffer = +""
    i = 0
    while i < count
      @writer.syswrite("x")
      @reader.sysread(1, buffer)
      i += 1
    end
  end
end
