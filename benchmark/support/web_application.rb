# frozen_string_literal: true

require "fileutils"
require "net/http"
require "rbconfig"
require "tempfile"
require "tmpdir"
require_relative "../../lib/rperf_push/remote/control_client"

# A Rack application of others on Puma, in a process of its own, with its own bundle. It is visited as a proxy would that ends TLS.
class WebApplication
  Failed = Class.new(StandardError)

  EXE = File.expand_path("../../exe/rperf-push", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  PUMA = %w[puma -C - -w 0 -t 5:5 -b tcp://127.0.0.1:0].freeze
  BOOT_SECONDS = 300
  EXIT_SECONDS = 60
  HEADERS = { "Host" => "localhost", "X-Forwarded-Proto" => "https", "User-Agent" => "benchmark" }.freeze
  NO_BUNDLE = ENV.keys.grep(/\A(?:BUNDLE_|BUNDLER_|RUBY(?:OPT|LIB)\z)/).to_h { |name| [name, nil] }.freeze

  # @param profiled [Hash, nil] settings of the profiler; nil: without it
  def initialize(checkout, profiled, yjit:)
    @log = Tempfile.new("application")
    @sockets = Dir.mktmpdir
    @profiled = !profiled.nil?
    command = [RbConfig.ruby, "-S", "bundle", "exec", *PUMA]
    command = [RbConfig.ruby, "-I", LIB, EXE, "run", *command] if profiled
    # A variable and no flag, because Bundler starts Puma.
    env = { **NO_BUNDLE, "RUBY_YJIT_ENABLE" => yjit ? "1" : nil,
                         "RPERF_PUSH_CONTROL_SOCKET" => @sockets, **profiled.to_h }
    @pid = spawn(env, *command, chdir: checkout, in: File::NULL, out: [@log.path, "w"], err: %i[child out])
  end

  # Until it listens.
  def wait
    deadline = now + BOOT_SECONDS
    until (@port = log[%r{Listening on http://127\.0\.0\.1:(\d+)}, 1])
      raise Failed, "the application did not start:\n#{log.lines.last(20).join}" if now > deadline || Process.wait(@pid, Process::WNOHANG)

      sleep(0.1)
    end
  end

  # CPU time of the process, all threads, by the clock that clock_getcpuclockid makes of the process's number (Linux).
  def cpu = Process.clock_gettime((~@pid << 3) | 2)

  # What the profiler says of itself: CPU seconds in the application's threads, and those of its own threads.
  def own
    return 0.0 unless @profiled

    threads = Dir["/proc/#{@pid}/task/*"].select { |task| File.read("#{task}/comm").start_with?("rpp-") }
    (RperfPush::ControlClient.new(Dir["#{@sockets}/*.sock"].first).ask("ps")["overhead_ns"] +
      threads.sum { |task| File.read("#{task}/schedstat").to_i }) / 1e9
  end

  # "/" and what it leads to, breadth first: pages that are served to a guest.
  # @return [Array<String>] paths
  def pages(limit)
    found, unseen, seen = [], ["/"], Set["/"]
    connect do |http|
      while found.size < limit && (path = unseen.shift)
        next unless (answer = http.get(path, HEADERS)).is_a?(Net::HTTPOK)

        found << path
        unseen.concat(links(answer.body).select { |link| seen.add?(link) })
      end
    end
    found
  end

  # @return [Integer] how many of them were not served
  def visit(paths, clients:)
    left = Queue.new(paths).close
    Array.new(clients) { Thread.new { connect { |http| visit_some(http, left) } } }.sum(&:value)
  end

  def stop
    Process.kill(:TERM, @pid)
    deadline = now + EXIT_SECONDS
    sleep(0.1) until (ended = Process.wait(@pid, Process::WNOHANG)) || now > deadline
    Process.wait(@pid) if !ended && Process.kill(:KILL, @pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil # it has ended by itself
  ensure
    @log.close!
    FileUtils.rm_rf(@sockets)
  end

  private

  def visit_some(http, left)
    failed = 0
    while (path = left.pop)
      failed += 1 unless http.get(path, HEADERS).is_a?(Net::HTTPOK)
    end
    failed
  end

  def links(body) = body.scan(%r{<a\b[^>]*\bhref="(/(?!/)[^"#]*)}).flatten.map { |path| path.gsub("&amp;", "&") }.uniq
  def connect(&) = Net::HTTP.start("127.0.0.1", @port, nil, read_timeout: 120, max_retries: 0, &)
  def log = File.read(@log.path, encoding: Encoding::UTF_8).scrub
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
