# frozen_string_literal: true

require "json"
require "net/http"
require "rbconfig"
require "tempfile"

# The example shop on Puma in a process of its own, on a free port of loopback.
class ShopProcess
  Failed = Class.new(StandardError)

  SHOP = File.expand_path("../shop", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  BOOT_SECONDS = 120
  EXIT_SECONDS = 20

  attr_reader :url

  # environment on top of this process's own; what the shop says goes to the file at log_path, or to one of its own
  def initialize(environment, log_path: nil)
    @log_file = Tempfile.new("shop") unless log_path
    @log_path = log_path || @log_file.path
    environment = { "PORT" => "0", "WEB_CONCURRENCY" => "0" }.merge(environment)
    @pid = spawn(environment, *command, in: File::NULL, out: [@log_path, "w"], err: %i[child out])
    @url = wait_until_listening
  end

  # Serves load for a while; returns what the load generator saw.
  def serve(seconds:, clients:)
    options = ["--seconds", seconds.to_s, "--clients", clients.to_s, "--json", *load_options]
    result = IO.popen([RbConfig.ruby, File.join(SHOP, "load.rb"), @url, *options], external_encoding: Encoding::UTF_8, &:read)
    status = Process.last_status
    raise Failed, "the load generator failed (#{status}); the shop said last:\n#{log.lines.last(15).join}" unless status.success?

    JSON.parse(result, symbolize_names: true)
  end

  # RperfPush.stats in the shop. This and what follows needs SHOP_DEBUG=1.
  def stats = JSON.parse(Net::HTTP.get(URI("#{url}/debug/rperf_push/stats")))

  # Whether the window now closed was delivered.
  def flush
    answer = Net::HTTP.post(URI("#{url}/debug/rperf_push/flush"), "")
    answer.is_a?(Net::HTTPOK) && JSON.parse(answer.body)["flushed"] == true
  end

  # Nothing is sampled or sent afterwards; the shop stays open.
  def end_profiling = Net::HTTP.post(URI("#{url}/debug/rperf_push/shutdown"), "")

  # As an operator would: SIGTERM, and time to finish. Returns whether the shop ended by itself and well.
  def stop
    return true unless @pid

    Process.kill(:TERM, @pid)
    status = wait_for_exit || (say_where_it_is && Process.kill(:KILL, @pid) && Process.wait2(@pid).last)
    @pid = nil
    status.success?
  rescue Errno::ESRCH, Errno::ECHILD
    true
  end

  # What the shop or its profiler complained of.
  def complaints = log.lines(chomp: true).grep(/rperf|error/i)

  # Whatever the locale; what others wrote there may be anything.
  def log = File.read(@log_path, encoding: Encoding::UTF_8).scrub + @stacks.to_s

  private

  def command = [RbConfig.ruby, "-I", LIB, "-rbundler/setup", Gem.bin_path("puma", "puma"), "-C", File.join(SHOP, "puma.rb")]
  def load_options = []

  def wait_until_listening
    deadline = now + BOOT_SECONDS
    while now < deadline
      url = log[%r{Listening on (http://\S+)}, 1]
      return url if url

      if Process.wait(@pid, Process::WNOHANG)
        @pid = nil
        break
      end

      sleep(0.05)
    end
    stop
    raise Failed, "the shop did not start:\n#{log.lines.last(15).join}"
  end

  # Puma is known to hang at SIGTERM, also without a profiler (docs/production.md): the log says which thread does not end.
  def say_where_it_is
    command = [RbConfig.ruby, "-I", LIB, File.expand_path("../../exe/rperf-push", __dir__), "stacks", @pid.to_s]
    @stacks = "\nIt did not end within #{EXIT_SECONDS} s:\n#{IO.popen(command, err: %i[child out], &:read)}"
  end

  def wait_for_exit
    deadline = now + EXIT_SECONDS
    while now < deadline
      _, status = Process.wait2(@pid, Process::WNOHANG)
      return status if status

      sleep(0.05)
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
