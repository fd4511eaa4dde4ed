# frozen_string_literal: true

require_relative ".."
require_relative "control_client"

module RperfPush
  # Windows of a session that a process records for us, from its control socket.
  class RemoteSession
    TURN = 0.1 # seconds, between two looks at the clock
    BEGIN_WAIT = 30 # seconds: until the process comes to a safepoint

    END_WAIT = 40 # seconds: until the last window has come; the process itself gives up then

    NO_SAFEPOINT = "the process came to no safepoint within #{BEGIN_WAIT} s: see rperf-push stacks".freeze

    # @param stream [ControlStream] of the verb record
    def initialize(stream)
      @stream = stream
    end

    # Until the time is over or the block says :stop; then the last window is asked for and waited for.
    #
    # @param seconds [Numeric, nil] from when the process began to record; nil: until the block says so
    # @yieldparam data [Hash, nil] each window, as {RperfPush.stop} returns it; nil in between
    # @return [Hash] what the process says of the session
    # @raise [ControlClient::Refused]
    def each(seconds: nil)
      about = wait_for_begin { yield(nil) == :stop }
      deadline = seconds ? clock + seconds : Float::INFINITY
      finish unless about
      while (kind, message = @stream.read(timeout: TURN))
        stop = yield(kind == :profile ? decoded(message) : nil) == :stop
        finish if stop || clock >= deadline
        raise ControlRefusal, "the process gave no last window within #{END_WAIT} s" if @ends_by && clock >= @ends_by
      end
      about
    end

    private

    def finish
      return if @ends_by

      @stream.finish
      @ends_by = clock + END_WAIT
    end

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # @return [Hash, nil] nil: the caller has asked to finish
    def wait_for_begin
      deadline = clock + BEGIN_WAIT
      loop do
        kind, message = @stream.read(timeout: TURN)
        return message if kind == :document
        return if yield
        raise ControlClient::Refused, NO_SAFEPOINT if clock > deadline
      end
    end

    def decoded(bytes)
      PProf.decode(Formats.unpacked(bytes, "a window"))
    rescue ArgumentError => e
      raise ControlRefusal, "a window can not be read: #{e.message}"
    end
  end
end
