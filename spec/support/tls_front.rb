# frozen_string_literal: true

require "openssl"
require "socket"
require_relative "certificates"

# TLS in front of a plain server on loopback, with a certificate of its own making.
class TlsFront
  # @return [String] what goes into server_address
  def url = "https://127.0.0.1:#{@listener.addr[1]}"

  # @return [String] the certificate, which has signed itself
  def certificate = @certificate.to_pem

  # @param port [Integer] of the plain server
  # @param name [String] what the certificate is for
  # @param from [Time] and to: when it is valid
  def initialize(port, name: "IP:127.0.0.1", from: Time.now - 60, to: Time.now + 3600)
    @port = port
    @certificate, key = Certificates.sign("rperf-push test", names: name, from:, to:)
    @listener = TCPServer.new("127.0.0.1", 0)
    @context = OpenSSL::SSL::SSLContext.new.tap { |context| context.add_certificate(@certificate, key) }
    @accepting = Thread.new { loop { serve_in_thread(@listener.accept) } }
    @accepting.report_on_exception = false # the listener is closed by stop
  end

  def stop
    @listener.close
    @accepting.join
  rescue IOError, SystemCallError
    nil
  end

  private

  def serve_in_thread(socket)
    Thread.new do
      client = OpenSSL::SSL::SSLSocket.new(socket, @context).tap(&:accept)
      server = TCPSocket.new("127.0.0.1", @port)
      up = Thread.new { pass(client, server) }
      pass(server, client)
      up.kill
    rescue OpenSSL::SSL::SSLError, IOError, SystemCallError
      nil # the client did not like the certificate, or one of the two has gone
    ensure
      [client, server, socket].compact.each(&:close)
    end
  end

  def pass(from, to)
    loop { to.write(from.readpartial(16 * 1024)) }
  rescue IOError, SystemCallError, OpenSSL::SSL::SSLError
    nil
  end
end
