# frozen_string_literal: true

require_relative "control_folder"
require_relative "control_peer"
require_relative "control_shape"
require_relative "control_stream"

module RperfPush
  # Talks to the control sockets of processes: finds them, asks, and reads what they say. docs/control.md has the protocol.
  class ControlClient
    Refused = ControlRefusal
    GREETING = "rperf-push/1"
    SMALL_MAX = 1024 * 1024 # of what a process says of itself

    class << self
      # @return [Array<ControlClient>]
      def all = ControlFolder.sockets.map { |path| new(path) }

      # All are asked at once: one that does not answer keeps no other one from it.
      #
      # @return [Array<Array(ControlClient, Hash)>] those that answer, with what they say of themselves
      def answering
        all.map { |client| Thread.new { [client, client.about] } }.map(&:value).select(&:last)
      end

      # @return [ControlClient]
      # @raise [Refused] when there is no such process, or it does not listen
      def of(pid)
        likely = all.find { |client| File.basename(client.path, ".sock").end_with?(pid.to_s) && client.pid == pid }
        likely || answering.find { |_, document| document["pid"] == pid }&.first ||
          raise(Refused, "no process #{pid} listens: is it profiled, and of this user?")
      end

      # @param values [Array<String>, Object] a list: the key as often as it has values
      # @return [Array<String>] as the protocol has them
      def given(key, values)
        [*values].map { |value| "#{key}=#{value.to_s.b.gsub(/[^!-$&-~]/n) { |byte| format("%%%02X", byte.ord) }}" }
      end
    end

    attr_reader :path

    def initialize(path)
      @path = path
    end

    # @return [Integer, nil] nil when no process answers
    def pid = about&.fetch("pid")

    # @return [Hash, nil] what the process says of itself; nil when there is none, or one that is not to be believed
    def about
      ask("ps", max_bytes: SMALL_MAX)
    rescue Refused, SystemCallError
      nil
    end

    # @param max_bytes [Integer] of the answer
    # @return [Hash] the document
    def ask(verb, max_bytes: ControlStream::MESSAGE_MAX, **arguments)
      connect(verb, max_bytes:, **arguments) do |stream, peer|
        kind, document = stream.read
        raise Refused, "the process gave no answer within #{ControlStream::MAX_WAIT} s" unless kind == :document

        ControlShape.check(verb, document)
        raise Refused, "#{path}: says that it is another process" unless peer.answers_for?(document["pid"])

        document
      end
    end

    # @yieldparam stream [ControlStream]
    # @yieldparam peer [ControlPeer]
    def connect(verb, max_bytes: ControlStream::MESSAGE_MAX, **arguments)
      ControlPeer.open(path) do |peer|
        peer.socket.write("#{[GREETING, verb, *arguments.flat_map { |key, value| ControlClient.given(key, value) }].join(" ")}\n")
        yield ControlStream.new(peer.socket, max_bytes:), peer
      end
    rescue Errno::EPIPE, Errno::ECONNRESET
      raise Refused, "the process has gone"
    end
  end
end
