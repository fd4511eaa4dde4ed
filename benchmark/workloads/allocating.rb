# frozen_string_literal: true

require_relative "../support/depth"

# Nothing but short-lived objects, deep down the stack: the GC runs all the time, and marks the stack and our tables.
class Allocating
  def initialize(depth: 80)
    @depth = depth
  end

  def run(count)
    Depth.at(@depth) { allocate(count) }
  end

  private

  def allocate(count)
    i = 0
    while i < count
      [Object.new, "x#{i}"]
      i += 1
    end
  end
end
