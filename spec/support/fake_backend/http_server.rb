# frozen_string_literal: true

require "timeout"
require_relative "../held_port"
require_relative "http_message"

module FakeBackend
  # A small HTTP/1.1 server on loopback, a thread for each connection. It can leave its port and come back to it, so
  # that a client meets a refused connection and finds the same address again.
  class HttpServer
    # @param port [Integer] 0 for a free one
    # @param request_timeout [Numeric, nil] seconds that a request may take to come in; then the connection is closed
    # @yieldparam request [HttpRequest]
    # @yieldreturn [HttpAnswer]
    def initialize(port: 0, request_timeout: nil, &handler)
      @handler = handler
      @request_timeout = request_timeout
      @connections = {}
      @lock = Mutex.new
      @port = HeldPort.new(port)
      listen
    end

    def port = @port.number
    def url = "http://127.0.0.1:#{port}"

    # Takes connections; does nothing while it does already.
    def listen
      return if @listener

      @listener = TCPServer.new("127.0.0.1", port)
      @accepting = Thread.new(@listener) { |listener| accept(listener) }
    end

    # Refuses connections and reads no more from those there are. What was stored is answered, as no real server stores and falls silent:
    # of 30 requests that met a killed Pyroscope, it had stored none.
    def refuse
      @listener&.close
      @accepting&.join
      @listener = nil
      @lock.synchronize { @connections.keys }.each { |socket| shut(socket) }
    end

    alias stop refuse

    private

    def accept(listener)
      loop { serve_in_thread(listener.accept) }
    rescue IOError, Errno::EBADF
      nil # closed by refuse
    end

    def serve_in_thread(socket)
      @lock.synchronize { @connections[socket] = true }
      Thread.new do
        socket.setsockopt(:TCP, :NODELAY, true)
        serve(socket)
      rescue IOError, SystemCallError, Timeout::Error
        nil # the peer has gone, or is too slow; what it sent whole has been dealt with
      ensure
        @lock.synchronize { @connections.delete(socket) }
        socket.close
      end
    end

    def serve(socket)
      while (request = read(socket))
        answer = @handler.call(request)
        break if answer.status.zero?

        answer.write(socket, request.keep_alive?)
        break unless request.keep_alive?
      end
    end

    def read(socket)
      socket.wait_readable
      Timeout.timeout(@request_timeout) { HttpRequest.read(socket) }
    end

    def shut(socket)
      socket.shutdown(:RD)
    rescue IOError, SystemCallError
      nil
    end
  end
end
