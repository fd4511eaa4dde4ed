# frozen_string_literal: true

require "socket"

# A port of loopback that nobody else gets while it is held. Until a server listens there, connections are refused. A server can
# listen there: servers set SO_REUSEADDR, and then only another socket that listens is in their way.
#
#   port = HeldPort.new
#   Process.spawn("redis-server", "--port", port.to_s)
class HeldPort
  # @return [Integer]
  attr_reader :number

  # @param number [Integer] 0 for a free one
  def initialize(number = 0)
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :REUSEADDR, true)
    @socket.bind(Addrinfo.tcp("127.0.0.1", number))
    @number = @socket.local_address.ip_port
  end

  def to_s = number.to_s

  # It is held for as long as somebody knows it, unless it is released before.
  def release = @socket.close
end
