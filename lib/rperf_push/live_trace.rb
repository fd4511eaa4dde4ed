# frozen_string_literal: true

require_relative "control_client"
require_relative "live_calls"

module RperfPush
  # The calls of one process, which is traced while a page is open: it runs at its own speed while nobody looks.
  class LiveTrace
    TURN = 0.2 # seconds, between two looks at who looks
    REST = 1 # second, in which a process ends its tracing before it is asked again

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
        @client.connect("trace", **@request) { |stream| follow(stream, LiveCalls.new, &) }
        sleep REST
      end
    end

    private

    def follow(stream, calls, &)
      while @audience.any?
        kind, content = stream.read(timeout: TURN)
        raise ControlClient::Refused, "its tracing has ended" unless kind
        next if kind == :nothing

        (content.key?("changes") ? calls.windows(content) : [nil]).each(&)
      end
    end
  end
end
