# frozen_string_literal: true

module RperfPush
  # Whether a page is open. Each says so again and again, and that it goes; one that a browser ends without a word falls silent.
  class LiveAudience
    MAX_GAP = 90 # seconds: a browser lets a hidden page speak once a minute
    OTHERS = 5 # seconds, until another page would have spoken

    # @return [void]
    def here = stay(MAX_GAP)
    # @return [void]
    def gone = stay(OTHERS)
    # @return [Boolean]
    def any? = now < @until.to_f

    private

    def stay(seconds) = (@until = now + seconds)
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
