# frozen_string_literal: true

require "json"
require "socket"

module RperfPush
  # Talks to the control sockets of processes: finds them, asks, and reads what they say. docs/control.md has the protocol.
  class ControlClient
    # What the process, or the way to it, says in a line.
    class Refused < StandardError; end

    GREETING = "rperf-push/1"
    DOCUMENT = "J"
    PROFILE = "P"
    REFUSAL = "E"
    FINISH = "Z"
    MESSAGE_MAX = 64 * 1024 * 1024
    PATIENCE = 10 # seconds, for the first byte of an answer: a look takes one at the most

    # Where sockets may be: those that the process was told of, or else those of this user.
    #
    # @return [Array<String>] paths
    def self.paths(place = ENV.fetch("RPERF_PUSH_CONTROL_SOCKET", nil))
      return [place] if place&.end_with?(".sock") && File.socket?(place)

      folders(place).flat_map { |folder| Dir.glob("#{folder}/*.sock") }.select { |path| File.socket?(path) }.sort.uniq
    end

    # A process may have had another environment than this one, so each place is looked at.
    def self.folders(place)
      return [place.end_with?(".sock") ? File.dirname(place) : place] if place&.start_with?("/")

      [*runtime_folders, *["/tmp", ENV.fetch("TMPDIR", nil)].compact.map { |folder| "#{folder}/rperf-push-#{Process.euid}" }].uniq
    end

    # Root looks into those of others.
    def self.runtime_folders
      own = ENV.fetch("XDG_RUNTIME_DIR", nil)
      all = Process.euid.zero? ? Dir.glob(%w[/run/user/*/rperf-push /tmp/rperf-push-*]) : ["/run/user/#{Process.euid}/rperf-push"]
      [*("#{own}/rperf-push" if own), *all]
    end
    private_class_method :folders, :runtime_folders

    # @return [ControlClient]
    # @raise [Refused] when there is no such process, or it does not listen
    def self.of(pid)
      clients = paths.map { |path| new(path) }
      clients.find { |client| File.basename(client.path, ".sock").end_with?(pid.to_s) && client.pid == pid } ||
        clients.find { |client| client.pid == pid } || raise(Refused, "no process #{pid} listens: is it profiled, and of this user?")
    end

    # @param values [Array<String>, Object] a list: the key as often as it has values
    # @return [Array<String>] as the protocol has them
    def self.given(key, values)
      [*values].map { |value| "#{key}=#{value.to_s.b.gsub(/[^!-$&-~]/n) { |byte| format("%%%02X", byte.ord) }}" }
    end

    attr_reader :path

    def initialize(path)
      @path = path
    end

    # @return [Integer, nil] nil when nobody answers
    def pid
      ask("ps")&.fetch("pid", nil)
    rescue Refused, SystemCallError
      nil
    end

    # @return [Hash] the document
    def ask(verb, **arguments)
      connect(verb, **arguments) { |stream| return stream.each.first.last }
    end

    # @yieldparam stream [Stream]
    def connect(verb, **arguments)
      UNIXSocket.open(path) do |socket|
        socket.write("#{[GREETING, verb, *arguments.flat_map { |key, value| ControlClient.given(key, value) }].join(" ")}\n")
        yield Stream.new(socket)
      end
    rescue Errno::EPIPE, Errno::ECONNRESET
      raise Refused, "the process has gone"
    end

    # Messages of one connection.
    class Stream
      def initialize(socket)
        @socket = socket
        @buffer = "".b
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

      # @param timeout [Numeric, nil] seconds to wait for the whole message
      # @return [Array(Symbol, Object), nil] nil at the end
      # @raise [Refused]
      def read(timeout: PATIENCE)
        until (message = take)
          return [:nothing, nil] unless @socket.wait_readable(timeout)

          @buffer << @socket.readpartial(1 << 16)
        end
        understood(*message)
      rescue EOFError
        raise Refused, "the process has gone, or has cut a connection that was too slow"
      end

      private

      def take
        return if @buffer.bytesize < 5

        length, kind = @buffer.unpack("Na")
        raise Refused, "that is no control socket of rperf-push" if length > MESSAGE_MAX
        return if @buffer.bytesize < 5 + length

        @buffer.slice!(0, 5)
        [kind, @buffer.slice!(0, length)]
      end

      def understood(kind, bytes)
        case kind
        when DOCUMENT then [:document, JSON.parse(bytes.force_encoding(Encoding::UTF_8).scrub("?"))]
        when PROFILE then [:profile, bytes]
        when REFUSAL then raise Refused, bytes.force_encoding(Encoding::UTF_8).scrub("?")
        when FINISH then nil
        else raise Refused, "that is no control socket of rperf-push"
        end
      end
    end
  end
end
