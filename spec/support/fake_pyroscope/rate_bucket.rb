# frozen_string_literal: true

class FakePyroscope
  # The tenant's token bucket: refilled steadily, never above its burst. What does not fit is refused and leaves the
  # bucket as it is, so something larger than the burst is refused for ever.
  class RateBucket
    attr_reader :rate, :burst

    # @param rate [Numeric] bytes a second
    # @param burst [Integer] bytes
    def initialize(rate:, burst: 2 * 1024 * 1024, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
      @rate = rate
      @burst = burst
      @clock = clock
      @tokens = burst.to_f
      @at = clock.call
      @lock = Mutex.new
    end

    # @param bytes [Integer] taken out where they fit
    # @raise [Refusal]
    def take(bytes)
      @lock.synchronize do
        refill
        raise Refusal.new("resource_exhausted", refusal(bytes)) if bytes > @tokens

        @tokens -= bytes
      end
    end

    private

    def refill
      now = @clock.call
      @tokens = [burst, @tokens + ((now - @at) * rate)].min
      @at = now
    end

    def refusal(bytes)
      "push rate limit (#{rate.to_i} B) exceeded while adding #{bytes} B"
    end
  end
end
