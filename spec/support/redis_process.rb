# frozen_string_literal: true

require "socket"
require_relative "held_port"

# A real Redis of the test's own, on a free port of loopback, which keeps nothing.
class RedisProcess
  attr_reader :url

  def initialize(folder)
    @port = HeldPort.new
    @url = "redis://127.0.0.1:#{@port}/0"
    @log = File.join(folder, "redis.log")
    @pid = Process.spawn("redis-server", "--port", @port.to_s, "--bind", "127.0.0.1", "--save", "", "--dir", folder,
                         in: File::NULL, %i[out err] => @log)
    wait
  end

  def stop
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
  end

  private

  def wait
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    begin
      TCPSocket.open("127.0.0.1", @port.number, &:close)
    rescue Errno::ECONNREFUSED
      raise "no Redis:\n#{File.read(@log)}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
      retry
    end
  end
end
