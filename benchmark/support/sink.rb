# frozen_string_literal: true

require "socket"
require "zlib"

# A server on loopback that takes every push and says it is fine. What it was sent can be looked at.
class Sink
  ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n"

  attr_reader :url, :bodies

  # @param keep [Boolean] whether bodies are kept
  def initialize(keep: false)
    @keep = keep
    @bodies = []
    @server = TCPServer.new("127.0.0.1", 0)
    @url = "http://127.0.0.1:#{@server.addr[1]}"
    @thread = Thread.new { loop { Thread.new(@server.accept) { |client| serve(client) } } }
    @thread.report_on_exception = false
  end

  def close
    @thread.kill
    @server.close
  end

  private

  def serve(client)
    while (head = client.gets("\r\n\r\n"))
      client.write("HTTP/1.1 100 Continue\r\n\r\n") if head.match?(/^expect: 100-continue/i)
      body = read_body(client, head)
      @bodies << unpacked(head, body) if @keep
      client.write(ANSWER)
    end
  rescue SystemCallError, IOError
    nil # the child ended
  ensure
    client.close
  end

  def unpacked(head, body) = head.match?(/^content-encoding:\s*gzip/i) ? Zlib.gunzip(body) : body

  def read_body(client, head)
    length = head[/^content-length:\s*(\d+)/i, 1]
    return client.read(length.to_i) if length

    read_chunks(client) if head.match?(/^transfer-encoding:\s*chunked/i)
  end

  def read_chunks(client)
    body = +""
    while (size = client.gets("\r\n").to_i(16)).positive?
      body << client.read(size)
      client.gets("\r\n")
    end
    client.gets("\r\n")
    body
  end
end
