# frozen_string_literal: true

# Blocks whose environments move to the heap, again and again, in a method that has $~: at some instructions of the move a frame's
# environment is none.
class EscapingBlocks
  # @param count [Numeric] seconds
  def run(count)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    handle("x") while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  end

  private

  def handle(text)
    1_000.times { match(text) }
  end

  def match(text)
    text =~ /x/
    1.times { -> { text } }
  end
end
