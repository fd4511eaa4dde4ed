# frozen_string_literal: true

require "securerandom"
require "socket"

module RperfPush
  module CLI
    # Serves a Rack application to one's own browser: GET only, one request a connection, below a token that cannot be guessed.
    #
    # One thread accepts and reads. A connection gets a thread of its own when it has shown the token. Until then it has a deadline,
    # and if there are too many, the oldest goes.
    class PageServer
      HEAD_BYTES = 16 * 1024
      HEAD_SECONDS = 10 # for a whole head, however it comes
      WRITE_SECONDS = 10 # until a browser takes a further part
      CONNECTIONS_MAX = 64
      PAUSE_SECONDS = 0.1 # in accepting, when the process can have no further descriptor
      NO_ROOM = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM].freeze
      REASONS = { 200 => "OK", 204 => "No Content", 403 => "Forbidden", 404 => "Not Found", 405 => "Method Not Allowed",
                  500 => "Internal Server Error" }.freeze
      FORBIDDEN = [403, { "content-type" => "text/plain" }.freeze, ["The address has a token, which this one lacks.\n"].freeze].freeze
      ICON = [204, {}.freeze, [].freeze].freeze # the page has its own; a browser that asks nevertheless shows no error

      # A connection whose head has not come yet.
      Visitor = Struct.new(:socket, :head, :deadline) do
        def to_io = socket
        def whole? = head.include?("\r\n\r\n")

        # @return [Array(String, String, String), nil] method, path, query; nil: it is no request
        def request
          method, target = head[%r{\A([A-Z]+ /\S*) HTTP/1\.[01]\r\n}, 1]&.split
          [method, *target.split("?", 2)] if target
        end
      end

      # @raise [SystemCallError, SocketError] when the address is not to be had
      def initialize(app, host:, port:)
        @app = app
        @host = host
        @token = SecureRandom.urlsafe_base64(18)
        @server = TCPServer.new(host, port)
        @visitors = []
        @served = []
        @accepts_from = 0
      end

      def url = "http://#{@host.include?(":") ? "[#{@host}]" : @host}:#{@server.addr[1]}/#{@token}/"

      # Until the process is interrupted.
      def run
        loop { turn }
      ensure
        [@server, *@visitors.map(&:socket)].each(&:close)
      end

      private

      def turn
        ready, = IO.select([(@server if clock >= @accepts_from), *@visitors].compact, nil, nil, seconds_until_next)
        ready&.grep(Visitor)&.each { |visitor| hear(visitor) }
        accept if ready&.include?(@server)
        now = clock
        @visitors.select { |one| one.deadline <= now }.each { |one| send_away(one) }
      end

      # @return [Float, nil] nil: nothing is due
      def seconds_until_next
        now = clock
        due = [@visitors.first&.deadline, (@accepts_from if @accepts_from > now)].compact.min
        [due - now, 0].max if due
      end

      def accept
        socket = @server.accept_nonblock(exception: false)
        return if socket == :wait_readable

        make_room
        socket.timeout = WRITE_SECONDS
        @visitors << Visitor.new(socket, "".b, clock + HEAD_SECONDS)
      rescue *NO_ROOM
        @visitors.any? ? send_away(@visitors.first) : @accepts_from = clock + PAUSE_SECONDS
      rescue SystemCallError
        nil # it has gone before it was accepted
      end

      # A browser sends its head at once. So the connection that has waited longest is not from one.
      def make_room
        @served.select!(&:alive?)
        send_away(@visitors.first) if @visitors.any? && @visitors.size + @served.size >= CONNECTIONS_MAX
      end

      def hear(visitor)
        visitor.head << visitor.socket.read_nonblock(HEAD_BYTES)
        if visitor.whole? then answer(visitor)
        elsif visitor.head.bytesize >= HEAD_BYTES then send_away(visitor)
        end
      rescue IO::WaitReadable
        nil
      rescue SystemCallError, IOError
        send_away(visitor)
      end

      def send_away(visitor)
        @visitors.delete(visitor)
        visitor.socket.close
      end

      def answer(visitor)
        method, path, query = visitor.request
        return send_away(visitor) unless path
        return dismiss(visitor, path == "/favicon.ico" ? ICON : FORBIDDEN) unless path.start_with?("/#{@token}/")

        @visitors.delete(visitor)
        @served << Thread.new { serve(visitor.socket, method, path, query) }
      rescue ThreadError
        visitor.socket.close # the system gave none
      end

      # No request waits for one without a token.
      def dismiss(visitor, answer)
        visitor.socket.write_nonblock(parts_of(*answer).join, exception: false)
        send_away(visitor)
      end

      def serve(socket, method, path, query)
        prefix = "/#{@token}"
        answer = @app.call("REQUEST_METHOD" => method, "SCRIPT_NAME" => prefix, "PATH_INFO" => path.delete_prefix(prefix),
                           "QUERY_STRING" => query.to_s)
        socket.write(*parts_of(*answer))
      rescue SystemCallError, IOError # which a timeout is, too
        nil # the browser has gone
      ensure
        socket.close
      end

      # @return [Array<String>]
      def parts_of(status, headers, body)
        lines = { **headers, "connection" => "close" }.map { |name, value| "#{name}: #{value}\r\n" }.join
        ["HTTP/1.1 #{status} #{REASONS.fetch(status)}\r\n#{lines}\r\n", *body]
      end

      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
