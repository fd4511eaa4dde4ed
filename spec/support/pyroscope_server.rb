# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "pyroscope_client"

# A real Pyroscope, if there is one: a program to be started here, on loopback and for as long as it is needed, or a
# server that runs already.
#
#   server = PyroscopeServer.find or abort PyroscopeServer::HINT
#   server.start
#   ... server.url ...
#   server.stop
class PyroscopeServer
  HINT = "no Pyroscope here: set PYROSCOPE to the path of its program (https://github.com/grafana/pyroscope/releases), " \
         "put it on PATH as `pyroscope`, or set PYROSCOPE_URL to a server that runs"

  # @param url [String, nil] of a server that runs; goes before all else
  # @return [PyroscopeServer, nil] not started yet
  # @raise [ArgumentError] if PYROSCOPE names no program: asked for and missing is a mistake
  def self.find(url: nil, env: ENV)
    url ||= env["PYROSCOPE_URL"].to_s
    return new(url:) unless url.empty?

    program = program(env)
    new(program:) if program
  end

  def self.program(env)
    named = env["PYROSCOPE"].to_s
    unless named.empty?
      return named if runnable?(named)

      raise ArgumentError, "PYROSCOPE=#{named} is not a program"
    end
    env["PATH"].to_s.split(File::PATH_SEPARATOR).map { |folder| File.join(folder, "pyroscope") }.find { |path| runnable?(path) }
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
    @pid = nil
    @url = nil
    FileUtils.rm_rf(@folder)
  end

  private

  def launch
    @folder = Dir.mktmpdir("pyroscope-")
    http, grpc, members, raft = free_ports(4)
    @pid = Process.spawn(@program, *flags(http, grpc, members, raft), chdir: @folder, in: File::NULL, %i[out err] => log)
    @url = "http://127.0.0.1:#{http}"
  end

  def log = File.join(@folder, "log")

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def wait_until_ready(deadline)
    client = PyroscopeClient.new(url)
    until client.ready?
      raise "Pyroscope ended while starting:\n#{log_end}" if ended?
      raise "Pyroscope at #{url} is not ready:\n#{log_end}" if now > deadline

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

  # All held at once, so that they differ.
  def free_ports(count)
    servers = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
    servers.map { |server| server.addr[1] }
  ensure
    servers&.each(&:close)
  end

  # Everything listens on loopback, everything is kept in the folder, nothing is reported home.
  def flags(http, grpc, members, raft)
    {
      "target" => "all", "architecture.storage" => "v2",
      "server.http-listen-address" => "127.0.0.1", "server.http-listen-port" => http,
      "server.grpc-listen-address" => "127.0.0.1", "server.grpc-listen-port" => grpc,
      "memberlist.bind-addr" => "127.0.0.1", "memberlist.advertise-addr" => "127.0.0.1", "memberlist.bind-port" => members,
      "distributor.ring.store" => "inmemory", "distributor.ring.instance-addr" => "127.0.0.1",
      "overrides-exporter.ring.store" => "inmemory", "overrides-exporter.ring.instance-addr" => "127.0.0.1",
      "query-scheduler.ring.store" => "inmemory", "query-scheduler.ring.instance-addr" => "127.0.0.1",
      "query-frontend.instance-addr" => "127.0.0.1", "segment-writer.lifecycler.addr" => "127.0.0.1",
      "segment-writer.min-ready-duration" => "0s", "segment-writer.metadata-update-timeout" => "0s",
      "metastore.min-ready-duration" => "0s", "metastore.address" => "127.0.0.1:#{grpc}",
      "metastore.raft.server-id" => "127.0.0.1:#{raft}", "metastore.raft.bind-address" => "127.0.0.1:#{raft}",
      "metastore.raft.advertise-address" => "127.0.0.1:#{raft}", "metastore.raft.dir" => "#{@folder}/raft",
      "metastore.raft.snapshots-dir" => "#{@folder}/snap", "metastore.data-dir" => "#{@folder}/meta",
      "query-backend.address" => "127.0.0.1:#{grpc}", "storage.backend" => "filesystem",
      "storage.filesystem.dir" => "#{@folder}/store", "usage-stats.enabled" => "false",
      "self-profiling.disable-push" => "true"
    }.map { |name, value| "-#{name}=#{value}" }
  end
end
