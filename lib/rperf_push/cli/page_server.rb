# frozen_string_literal: true

require "securerandom"
require "socket"

module RperfPush
  module CLI
    # Serves a Rack application to one's own browser: GET only, one request a connection, below a token that nobody guesses.
    class PageServer
      HEAD_BYTES = 16 * 1024
      PATIENCE_SECONDS = 10
      REASONS = { 200 => "OK", 403 => "Forbidden", 404 => "Not Found", 405 => "Method Not Allowed", 500 => "Internal Server Error" }.freeze
      FORBIDDEN = [403, { "content-type" => "text/plain" }.freeze, ["The address has a token, which this one lacks.
"].freeze].freeze

      class Refused < StandardError; end

      # @raise [SystemCallError, SocketError] when the address is not to be had
      def initialize(app, host:, port:)
        @app = app
        @host = host
        @token = SecureRandom.urlsafe_base64(18)
        @server = TCPServer.new(host, port)
      end

      def url = "http://#{@host.include?(":") ? "[#{@host}]" : @host}:#{@server.addr[1]}/#{@token}/"

      # Until the process is interrupted.
      def run
        loop do
          socket = @server.accept
          Thread.new { serve(socket) }
        end
      ensure
        @server.close
      end

      private

      def serve(socket)
        socket.timeout = PATIENCE_SECONDS
        write(socket, *respond(head_of(socket)))
      rescue Refused, SystemCallError, IOError # which a timeout is, too
        nil # whoever it was has gone, or was no browser
      ensure
        socket.close
      end

      # @return [Array(String, String, String)] method, path, query
      def head_of(socket)
        head = +""
        head << (socket.gets("\r\n", HEAD_BYTES) || raise(Refused)) until head.end_with?("\r\n\r\n") || head.bytesize > HEAD_BYTES
        method, target = head[%r{\A([A-Z]+ /\S*) HTTP/1\.[01]\r\n}, 1]&.split
        raise Refused unless target && head.bytesize <= HEAD_BYTES

        [method, *target.split("?", 2)]
      end

      def respond((method, path, query))
        prefix = "/#{@token}"
        return FORBIDDEN unless path.start_with?("#{prefix}/")

        @app.call("REQUEST_METHOD" => method, "SCRIPT_NAME" => prefix, "PATH_INFO" => path.delete_prefix(prefix),
                  "QUERY_STRING" => query.to_s)
      end

      def write(socket, status, headers, body)
        lines = { **headers, "connection" => "close" }.map { |name, value| "#{name}: #{value}\r\n" }.join
        socket.write("HTTP/1.1 #{status} #{REASONS.fetch(status)}\r\n#{lines}\r\n")
        body.each { |part| socket.write(part) }
      end
    end
  end
end
