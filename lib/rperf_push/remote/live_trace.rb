# frozen_string_literal: true

require_relative "control_client"
require_relative "live_calls"

module RperfPush
  # The calls of one process, which is traced while a page is open: it runs at its own speed while no page is open.
  class LiveTrace
    TURN = 0.2 # seconds, between two looks at who looks
    REST = 1 # second, in which a process ends its tracing before it is asked again
    MAX_WAIT = 30 # seconds, if it comes to no safepoint until then

    # @param request [Hash] arguments of the verb trace
    # @param audience [LiveAudience]
    def initialize(client, request, audience)
      @client = client
      @request = request
      @audience = audience
    end

    # Until the process ends the tracing.
    #
    # @yieldparam window [String, nil] pprof; nil: the tracing has begun
    # @raise [ControlClient::Refused, SystemCallError] with the reason
    def run(&)
      loop do
        sleep TURN until @audience.any?
        trace(&)
        @given_up = now
        sleep REST
      end
    end

    private

    # As long as the process has not heard that we gave up the trace before, it refuses another one.
    def trace
      begun = false
      @client.connect("trace", **@request) do |stream|
        follow(stream, LiveCalls.new) { |window| (begun = true) && yield(window) }
      end
    rescue ControlClient::Refused
      raise if begun || @given_up.nil? || now > @given_up + MAX_WAIT

      sleep REST
      retry
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def follow(stream, calls, &)
      while @audience.any?
        kind, content = stream.read(timeout: TURN)
        raise ControlClient::Refused, "its tracing has ended" unless kind
        next if kind == :nothing

        windows_of(content, calls).each(&)
      end
    end

    # What is no update shows in its reading.
    def windows_of(content, calls)
      content.key?("changes") ? calls.windows(content) : [nil]
    rescue NoMethodError, TypeError, ArgumentError, RangeError
      raise ControlClient::Refused, "what the process sent is no update of a trace"
    end
  end
end
