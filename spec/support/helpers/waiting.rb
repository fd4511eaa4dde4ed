# frozen_string_literal: true

# Waiting for what another thread or process will do, with an end.
module Waiting
  # @param timeout [Numeric] seconds
  # @yieldreturn [Object] truthy once it has happened
  # @return [Object] that
  def wait_until(what = "it", timeout: 120, interval: 0.05)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout
    until (result = yield)
      raise "waited #{timeout} s for #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep interval
    end
    result
  end
end
