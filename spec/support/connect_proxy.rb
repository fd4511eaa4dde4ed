# frozen_string_literal: true

require_relative "scripted_server"

# A proxy on loopback as TLS wants one: it opens a way to the server and does not see what goes through it.
class ConnectProxy
  # @return [Array<ScriptedServer::Request>] all that it was asked for
  attr_reader :requests

  def initialize
    @requests = []
    @server = ScriptedServer.new { |socket| connect(socket) }
  end

  def url(userinfo = nil) = "http://#{userinfo}127.0.0.1:#{@server.port}"
  def stop = @server.stop

  private

  def connect(client)
    request = ScriptedServer::Request.read(client)
    @requests << request
    server = TCPSocket.new(*request.path.split(":"))
    client.write("HTTP/1.1 200 Established\r\n\r\n")
    back = Thread.new { pass(server, client) }
    pass(client, server)
  ensure
    server&.close
    back&.join
  end

  def pass(from, to)
    loop { to.write(from.readpartial(16 * 1024)) }
  rescue IOError, SystemCallError
    nil # one of the two has gone
  end
end
