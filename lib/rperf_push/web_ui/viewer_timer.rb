# frozen_string_literal: true

require_relative "../base/notice"

module RperfPush
  # Takes the viewer's snapshots regularly, in a thread of its own. A forked child starts its own.
  class ViewerTimer
    # @param seconds [Numeric] between two snapshots
    # @yield takes one
    def initialize(seconds, &take)
      valid = seconds.is_a?(Numeric) && seconds.positive?
      raise ArgumentError, "every must be a positive number of seconds, got #{seconds.inspect}" unless valid

      @seconds = seconds
      @take = take
    end

    def start
      @thread = Thread.new { loop { turn } }
      @thread.name = "rperf-push viewer"
      @thread.thread_variable_set(:fork_safe, true) # else Puma warns of a thread that a fork ends
    end

    def stop = @thread&.kill

    private

    # One snapshot that fails is no reason to take no more.
    def turn
      sleep @seconds
      @take.call
    rescue StandardError => e
      Notice.write("[rperf-push] the viewer took no snapshot: #{e.message}")
    end
  end
end
