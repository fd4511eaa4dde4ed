# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "held_port"

# A real nginx on loopback, for as long as a test needs it, with a folder of its own.
#
#   nginx = Nginx.new { |it| "server { listen #{it.listen(:plain)}; return 503; }" }
#   nginx.url(:plain)   # => "http://127.0.0.1:34567"
#   nginx.stop
class Nginx
  PROGRAM = ENV.fetch("PATH").split(File::PATH_SEPARATOR).push("/usr/sbin").map { |folder| "#{folder}/nginx" }.find { |path| File.executable?(path) }

  # @return [String] its prefix
  attr_reader :folder

  # @yieldparam [Nginx] itself
  # @yieldreturn [String] what stands within http { }
  def initialize
    raise "no nginx here: run bin/setup" unless PROGRAM

    @folder = Dir.mktmpdir("nginx-")
    @ports = {}
    File.write("#{folder}/nginx.conf", configuration(yield(self)))
    start
  end

  # @param name [Symbol] of the port
  # @return [String] what goes behind `listen`
  def listen(name) = "127.0.0.1:#{@ports[name] ||= HeldPort.new}"

  def url(name, scheme: "http", host: "127.0.0.1") = "#{scheme}://#{host}:#{@ports.fetch(name)}"

  # @return [String]
  def error_log = File.read("#{folder}/error.log")

  def stop
    return unless @pid

    Process.kill(:TERM, @pid)
    Process.wait(@pid)
    @pid = nil
    FileUtils.rm_rf(folder)
  end

  private

  # One process in the foreground: it ends with its id, and needs no other user.
  def configuration(http)
    paths = %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{folder}/#{name};" }
    <<~CONF
      daemon off;
      master_process off;
      pid #{folder}/nginx.pid;
      error_log #{folder}/error.log;
      events {}
      http {
        access_log off;
        default_type text/plain;
        client_max_body_size 8m;
        #{paths.join("\n  ")}
        #{http}
      }
    CONF
  end

  def start
    @pid = Process.spawn(PROGRAM, "-p", folder, "-c", "#{folder}/nginx.conf", "-e", "#{folder}/error.log",
                         in: File::NULL, %i[out err] => "#{folder}/output")
    deadline = now + 120
    until @ports.each_value.all? { |port| open?(port.number) }
      raise "nginx ended:\n#{File.read("#{folder}/output")}" if Process.wait(@pid, Process::WNOHANG)
      raise "nginx does not listen:\n#{error_log}" if now > deadline

      sleep 0.02
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def open?(port)
    TCPSocket.open("127.0.0.1", port, &:close)
    true
  rescue Errno::ECONNREFUSED
    false
  end
end
