# frozen_string_literal: true

require_relative "../support/depth"

# Captures that follow one another at once, deep down the stack: what they read is in the caches.
class Capturing
  # As many as the sample buffer takes before the collector comes by.
  AT_ONCE = 150

  def initialize(depth: 1)
    @depth = depth
  end

  # @param count [Integer] how often AT_ONCE
  # @return [Hash] nanoseconds of one: a whole capture, and what it takes to read the CPU clock
  def run(count)
    captures = Depth.at(@depth) { Array.new(count) { sleep(0.02) && RperfPush::Native.capture_often(AT_ONCE) } }
    clocks = Array.new(count) { RperfPush::Native.read_cpu_clock_often(AT_ONCE) }
    { capture_ns: captures.sort[count / 2], clock_ns: clocks.sort[count / 2] }
  end
end
