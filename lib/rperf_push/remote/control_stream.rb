# frozen_string_literal: true

require "json"
require_relative "control_refusal"

module RperfPush
  # The messages of one connection to a control socket. However they come, a reader waits for a limited time and keeps a limited size.
  class ControlStream
    DOCUMENT = "J"
    PROFILE = "P"
    REFUSAL = "E"
    FINISH = "Z"
    MESSAGE_MAX = 16 * 1024 * 1024 # as much as a process keeps for a peer
    REASON_MAX = 1000
    MAX_WAIT = 10 # seconds, for an answer: an inspection takes one at the most
    MESSAGE_WAIT = 30 # seconds, for a message that has begun
    STRANGE = "that is no control socket of rperf-push"

    # @param socket [IO]
    # @param max_bytes [Integer] of a message
    def initialize(socket, max_bytes: MESSAGE_MAX)
      @socket = socket
      @max_bytes = max_bytes
      @buffer = "".b
      @whole_by = nil
    end

    # The last window is cut now, and comes; then the end.
    def finish
      @socket.write("\n")
    end

    # @yieldparam message [Array(Symbol, Object)] :document and a Hash, or :profile and a String
    def each
      return enum_for unless block_given?

      while (message = read)
        yield message
      end
    end

    # @param timeout [Numeric, nil] seconds to wait for the whole message; nil: until one begins
    # @return [Array(Symbol, Object), nil] :nothing when it has not come; nil at the end
    # @raise [ControlRefusal]
    def read(timeout: MAX_WAIT)
      till = clock + timeout if timeout
      until (message = take)
        return [:nothing, nil] unless @socket.wait_readable(seconds_until([till, @whole_by].compact.min)) || too_slow?

        @buffer << @socket.readpartial(1 << 16)
        @whole_by ||= clock + MESSAGE_WAIT
      end
      understood(*message)
    rescue EOFError
      raise ControlRefusal, "the process has gone, or has cut a connection that was too slow"
    end

    private

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def seconds_until(deadline) = deadline && [deadline - clock, 0].max

    def too_slow?
      raise ControlRefusal, "a message did not come within #{MESSAGE_WAIT} s" if @whole_by && clock >= @whole_by
    end

    # @return [Array(String, String), nil] the kind and the content of the next message, when it is whole
    def take
      too_slow?
      return if @buffer.bytesize < 5

      length, kind = @buffer.unpack("Na")
      raise ControlRefusal, STRANGE if length > @max_bytes
      return if @buffer.bytesize < 5 + length

      @buffer.slice!(0, 5)
      content = @buffer.slice!(0, length)
      @whole_by = @buffer.empty? ? nil : clock + MESSAGE_WAIT
      [kind, content]
    end

    def understood(kind, bytes)
      case kind
      when DOCUMENT then [:document, document(bytes)]
      when PROFILE then [:profile, bytes]
      when REFUSAL then raise ControlRefusal, text(bytes.byteslice(0, REASON_MAX))
      when FINISH then nil
      else raise ControlRefusal, STRANGE
      end
    end

    def document(bytes)
      read = JSON.parse(text(bytes))
      read.is_a?(Hash) ? read : raise(ControlRefusal, STRANGE)
    rescue JSON::ParserError
      raise ControlRefusal, "its answer is no JSON: #{STRANGE}"
    end

    def text(bytes) = bytes.force_encoding(Encoding::UTF_8).scrub("?")
  end
end
