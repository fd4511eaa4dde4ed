# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "held_port"

# A real HAProxy on loopback, for as long as a test needs it.
#
#   balancer = Haproxy.new(to: 4040, mode: :tcp)
#   balancer.url    # => "http://127.0.0.1:34567"
#   balancer.stop
class Haproxy
  PROGRAM = ENV.fetch("PATH").split(File::PATH_SEPARATOR).push("/usr/sbin").map { |folder| "#{folder}/haproxy" }.find { |path| File.executable?(path) }

  # @param to [Integer] the server's port
  # @param mode [Symbol] :tcp or :http
  def initialize(to:, mode:)
    raise "no haproxy here: run bin/setup" unless PROGRAM

    @folder = Dir.mktmpdir("haproxy-")
    @port = HeldPort.new
    File.write("#{@folder}/haproxy.cfg", configuration(to, mode))
    start
  end

  def url = "http://127.0.0.1:#{@port}"

  def stop
    return unless @pid

    Process.kill(:TERM, @pid)
    Process.wait(@pid)
    @pid = nil
    FileUtils.rm_rf(@folder)
  end

  private

  # What is not said is HAProxy's default: three retries, a second apart.
  def configuration(to, mode)
    <<~CONF
      defaults
        mode #{mode}
        timeout connect 5s
        timeout client 30s
        timeout server 30s
      listen profiles
        bind 127.0.0.1:#{@port}
        server one 127.0.0.1:#{to}
    CONF
  end

  def start
    @pid = Process.spawn(PROGRAM, "-db", "-f", "#{@folder}/haproxy.cfg", in: File::NULL, %i[out err] => "#{@folder}/output")
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 120
    until open?
      raise "haproxy ended:\n#{File.read("#{@folder}/output")}" if Process.wait(@pid, Process::WNOHANG)
      raise "haproxy does not listen" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.02
    end
  end

  def open?
    TCPSocket.open("127.0.0.1", @port.number, &:close)
    true
  rescue Errno::ECONNREFUSED
    false
  end
end
