# frozen_string_literal: true

# A process that waits, as most do most of the time.
class Sleeping
  def initialize(threads: 0)
    @threads = threads
  end

  def prepare
    @threads.times { Thread.new { sleep } }
    Thread.pass until Thread.list.count { |thread| thread.status == "sleep" } == @threads
  end

  # @param count [Numeric] seconds
  def run(count) = sleep(count)
end
