# frozen_string_literal: true

require "socket"
require_relative "fake_backend/http_message"

# A server on loopback that does to each request what a test says, below HTTP if need be, and keeps what it was sent.
#
#   server = ScriptedServer.new
#   server.answer { |socket, request| socket.write("HTTP/1.1 503 \r\n\r\n") }   # then the connection is closed
#   server.answer                                                              # from now on takes everything
class ScriptedServer
  OK = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
  Request = FakeBackend::HttpRequest

  attr_reader :port

  # @yieldparam socket [TCPSocket] each one, from which nothing was read; without a block HTTP is spoken
  def initialize(&take_over)
    @take_over = take_over
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.addr[1]
    @lock = Mutex.new
    @taken = []
    @scripted = []
    @sockets = {}
    @accepting = Thread.new { accept }
  end

  def url(scheme: "http") = "#{scheme}://127.0.0.1:#{port}"

  # @yieldparam socket [TCPSocket]
  # @yieldparam request [Request] as it was read
  def answer(&script)
    @lock.synchronize { @script = script }
    close_all unless script
  end

  # @return [Array<Request>] answered with 200, without a script
  def taken = @lock.synchronize { @taken.dup }

  # @return [Array<Request>] those that a script had
  def scripted = @lock.synchronize { @scripted.dup }

  def stop
    @listener.close
    @accepting.join
    close_all
  end

  # The peer sees a reset instead of an orderly end.
  def self.reset(socket)
    socket.setsockopt(Socket::Option.linger(true, 0))
    socket.close
  end

  private

  # Those that hang do so no more.
  def close_all = @lock.synchronize { @sockets.keys }.each(&:close)

  def accept
    loop { serve_in_thread(@listener.accept) }
  rescue IOError, Errno::EBADF
    nil # closed by stop
  end

  def serve_in_thread(socket)
    @lock.synchronize { @sockets[socket] = true }
    thread = Thread.new do
      @take_over ? @take_over.call(socket) : serve(socket)
    rescue IOError, SystemCallError
      nil # the peer has gone, or the server was stopped
    ensure
      @lock.synchronize { @sockets.delete(socket) }
      socket.close
    end
    thread.report_on_exception = true
  end

  def serve(socket)
    while (request = Request.read(socket))
      script = @lock.synchronize { @script.tap { |found| (found ? @scripted : @taken) << request } }
      return script.call(socket, request) if script

      socket.write(OK)
    end
  end
end
