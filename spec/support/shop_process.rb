# frozen_string_literal: true

require "English"
require "json"
require "net/http"
require "rbconfig"
require "socket"
require "tempfile"

# The example shop under a real Puma, in a process of its own, profiled and pushed to a server of the test's choice.
class ShopProcess
  ROOT = File.expand_path("../..", __dir__)
  SHOP = File.join(ROOT, "examples/shop")

  attr_reader :url, :pid

  # @param env [Hash{String => String}] the profiler's settings
  def initialize(env)
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    @url = "http://127.0.0.1:#{@port}"
    @log = Tempfile.new("shop")
    settings = { "PORT" => @port.to_s, "SHOP_DEBUG" => "1", "WEB_CONCURRENCY" => "0", **env }
    @pid = Process.spawn(settings, RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-S", "puma", "-C", File.join(SHOP, "puma.rb"),
                         chdir: ROOT, in: File::NULL, %i[out err] => @log.path)
  end

  # @return [self] once it answers
  def wait(timeout: 30)
    deadline = now + timeout
    until answers?
      raise "the shop ended:\n#{log}" if ended?
      raise "the shop does not answer:\n#{log}" if now > deadline

      sleep 0.1
    end
    self
  end

  # Customers for some seconds.
  #
  # @return [String] what the load generator says
  def visit(seconds)
    output = IO.popen([RbConfig.ruby, File.join(SHOP, "load.rb"), url, "--seconds", seconds.to_s, "--json"], &:read)
    raise "the load generator failed:\n#{output}\n#{log}" unless $CHILD_STATUS.success?

    output
  end

  # @return [Hash{String => Object}] RperfPush.stats
  def stats = JSON.parse(Net::HTTP.get(URI("#{url}/debug/rperf_push/stats")))

  # @return [Boolean] whether the window now closed was delivered
  def flush
    answer = Net::HTTP.post(URI("#{url}/debug/rperf_push/flush"), "")
    answer.is_a?(Net::HTTPOK) && JSON.parse(answer.body)["flushed"] == true
  end

  # Nothing is sampled or sent afterwards; the shop stays open.
  def end_profiling = Net::HTTP.post(URI("#{url}/debug/rperf_push/shutdown"), "")

  def stop
    end_process if pid && !ended?
  rescue Errno::ESRCH, Errno::ECHILD
    nil # it ended by itself
  ensure
    @pid = nil
    @log.close!
  end

  # @return [String] the end of what it said
  def log = File.readlines(@log.path).last(60).join

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def ended? = !Process.wait(pid, Process::WNOHANG).nil?

  def end_process
    Process.kill(:TERM, pid)
    deadline = now + 15
    until ended?
      Process.kill(:KILL, pid) if now > deadline
      sleep 0.05
    end
  end

  def answers?
    Net::HTTP.get_response(URI(url)).is_a?(Net::HTTPOK)
  rescue SystemCallError, IOError
    false
  end
end
