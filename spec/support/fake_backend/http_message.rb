# frozen_string_literal: true

require "socket"
require "zlib"

module FakeBackend
  # One request, read whole; header names in lower case, the body as it came (only the chunks are joined).
  class HttpRequest
    attr_reader :verb, :path, :query, :version, :headers, :body

    # @return [HttpRequest, nil] nil when the peer has closed the connection
    def self.read(socket)
      line = socket.gets("\r\n", 64 * 1024) or return
      new(socket, *line.split)
    end

    def initialize(socket, verb, target, version)
      @verb = verb
      @path, @query = target.split("?", 2)
      @version = version
      @headers = read_headers(socket)
      socket.write("HTTP/1.1 100 Continue\r\n\r\n") if headers["expect"].to_s.casecmp?("100-continue")
      @body = read_body(socket)
    end

    def keep_alive?
      connection = headers["connection"].to_s.downcase
      version == "HTTP/1.1" ? connection != "close" : connection == "keep-alive"
    end

    def gzip? = headers["content-encoding"] == "gzip"

    private

    def read_headers(socket)
      headers = {}
      while (line = socket.gets("\r\n", 64 * 1024)&.chomp) && !line.empty?
        name, value = line.split(":", 2)
        headers[name.downcase] = value.strip
      end
      headers
    end

    def read_body(socket)
      return read_chunks(socket) if headers["transfer-encoding"].to_s.downcase == "chunked"

      read_exactly(socket, headers["content-length"].to_i)
    end

    def read_chunks(socket)
      body = +"".b
      until (size = socket.gets("\r\n").to_s.hex).zero?
        body << read_exactly(socket, size)
        socket.gets("\r\n")
      end
      socket.gets("\r\n")
      body
    end

    def read_exactly(socket, size)
      body = socket.read(size) || ""
      raise EOFError, "#{body.bytesize} of #{size} bytes of a body" if body.bytesize < size

      body
    end
  end

  # One answer. A status of 0 closes the connection without any.
  HttpAnswer = Struct.new(:status, :headers, :body) do
    def self.none = new(0, {}, "")

    def self.text(status, body = "", headers = {})
      new(status, body.empty? ? headers : { "Content-Type" => "text/plain; charset=utf-8", **headers }, body)
    end

    def self.json(status, body, headers = {}) = new(status, { "Content-Type" => "application/json", **headers }, body)

    def gzipped
      self.class.new(status, { **headers, "Content-Encoding" => "gzip" }, Zlib.gzip(body))
    end

    def write(socket, keep_alive)
      lines = { **headers, "Content-Length" => body.bytesize, "Connection" => keep_alive ? "keep-alive" : "close" }
      socket.write("HTTP/1.1 #{status} \r\n#{lines.map { |pair| pair.join(": ") }.join("\r\n")}\r\n\r\n", body)
    end
  end
end
