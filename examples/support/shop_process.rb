# frozen_string_literal: true

require "json"
require "rbconfig"

# The example shop on Puma in a process of its own, on a free port of loopback.
class ShopProcess
  Failed = Class.new(StandardError)

  SHOP = File.expand_path("../shop", __dir__)
  BOOT_SECONDS = 30
  EXIT_SECONDS = 20

  attr_reader :url

  # environment on top of this process's own; what the shop says goes to the file at log_path
  def initialize(environment, log_path:)
    @log_path = log_path
    @pid = spawn({ "PORT" => "0" }.merge(environment), RbConfig.ruby, "-rbundler/setup", Gem.bin_path("puma", "puma"),
                 "-C", File.join(SHOP, "puma.rb"), in: File::NULL, out: [log_path, "w"], err: %i[child out])
    @url = wait_until_listening
  end

  # Serves load for a while; returns what the load generator saw.
  def serve(seconds:, clients:)
    command = [RbConfig.ruby, File.join(SHOP, "load.rb"), @url, "--seconds", seconds.to_s, "--clients", clients.to_s, "--json"]
    result = IO.popen(command, &:read)
    raise Failed, "the load generator failed" unless Process.last_status.success?

    JSON.parse(result, symbolize_names: true)
  end

  # As an operator would: SIGTERM, and time to finish. Returns whether the shop ended by itself and well.
  def stop
    return true unless @pid

    Process.kill(:TERM, @pid)
    status = wait_for_exit || (Process.kill(:KILL, @pid) && Process.wait2(@pid).last)
    @pid = nil
    status.success?
  rescue Errno::ESRCH, Errno::ECHILD
    true
  end

  # What the shop or its profiler complained of.
  def complaints = File.readlines(@log_path, chomp: true).grep(/rperf|error/i)

  private

  def wait_until_listening
    deadline = now + BOOT_SECONDS
    while now < deadline
      url = File.read(@log_path)[%r{Listening on (http://\S+)}, 1]
      return url if url
      break if Process.wait(@pid, Process::WNOHANG) && (@pid = nil).nil?

      sleep(0.05)
    end
    stop
    raise Failed, "the shop did not start:\n#{File.readlines(@log_path).last(15).join}"
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
