# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "held_port"

# A real backend, if there is one: a program to be started here, on loopback and for as long as it is needed, or a server
# that runs already. Each kind says its NAME, its HINT, how to ask whether it is ready, and how its program is called.
#
#   server = PyroscopeServer.find or abort PyroscopeServer::HINT
#   server.start
#   ... server.url ...
#   server.stop
class BackendServer
  # @param url [String, nil] of a server that runs; goes before all else
  # @return [BackendServer, nil] not started yet
  # @raise [ArgumentError] if the variable names no program: asked for and missing is an error
  def self.find(url: nil, env: ENV)
    url ||= env["#{self::NAME.upcase}_URL"].to_s
    return new(url:) unless url.empty?

    program = program(env)
    new(program:) if program
  end

  def self.program(env)
    named = env[self::NAME.upcase].to_s
    unless named.empty?
      return named if runnable?(named)

      raise ArgumentError, "#{self::NAME.upcase}=#{named} is not a program"
    end
    env["PATH"].to_s.split(File::PATH_SEPARATOR).map { |folder| File.join(folder, self::NAME.downcase) }.find { |path| runnable?(path) }
  end

  def self.runnable?(path) = File.file?(path) && File.executable?(path)
  private_class_method :program, :runnable?

  # @return [String, nil] nil before the start of a program
  attr_reader :url

  # @return [Integer, nil] of the program
  attr_reader :pid

  # @param program [String, nil] path of the binary
  # @param url [String, nil] of a server that runs
  def initialize(program: nil, url: nil)
    @program = program
    @url = url&.chomp("/")
  end

  # @return [Boolean] whether it is started and ended here
  def own? = !@program.nil?

  # Starts the program, if it is one, and waits until the server is ready.
  #
  # @param timeout [Numeric] seconds
  # @return [self]
  # @raise [RuntimeError] if it does not become ready, with the end of its log
  def start(timeout: 60)
    launch if own? && !pid
    wait_until_ready(now + timeout)
    self
  rescue StandardError
    stop
    raise
  end

  # Ends what was started here, and removes its data. A server that ran before keeps running.
  def stop
    return unless pid

    end_process
    @ports.each(&:release)
    @pid = nil
    @url = nil
    FileUtils.rm_rf(@folder)
  end

  private

  def launch
    @folder = Dir.mktmpdir("#{self.class::NAME.downcase}-")
    @ports = Array.new(self.class::PORTS) { HeldPort.new }
    port, *others = @ports.map(&:number)
    @pid = Process.spawn(@program, *arguments(port, *others), chdir: @folder, in: File::NULL, %i[out err] => log)
    @url = "http://127.0.0.1:#{port}"
  end

  def log = File.join(@folder, "log")

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def wait_until_ready(deadline)
    until ready?
      raise "#{self.class::NAME} ended while starting:\n#{log_end}" if ended?
      raise "#{self.class::NAME} at #{url} is not ready:\n#{log_end}" if now > deadline

      sleep 0.1
    end
  end

  def ended? = own? && !Process.wait(pid, Process::WNOHANG).nil?

  def log_end = own? && File.exist?(log) ? File.readlines(log).last(10).join : ""

  # It answers what is in flight on TERM; the rest of the seconds is for a machine under load.
  def end_process
    return if ended?

    Process.kill(:TERM, pid)
    deadline = now + 10
    until Process.wait(pid, Process::WNOHANG)
      Process.kill(:KILL, pid) if now > deadline
      sleep 0.05
    end
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end
end
