# frozen_string_literal: true

# Forks in every way, from several threads at once, while the uploader is always busy with a slow server.
#
#   ruby -I lib spec/stress/forking.rb SECONDS
#
# A child that is not profiled, fails, or does not end is an error. Ends with one line of JSON: children by kind.

require "json"
require "rperf_push"
require "socket"
require "timeout"

class Forking
  THREADS = 3
  CHILD_WAIT = 60
  KINDS = %i[fork fork_in_fiber fork_that_starts_threads fork_that_uploads fork_twice popen system spawn daemon].freeze
  # What goes through the whole life of a session waits for the slow server.
  RARELY = { fork_that_uploads: 10, daemon: 5 }.freeze

  attr_reader :counts

  def initialize
    @counts = Hash.new(0)
    @lock = Mutex.new
  end

  def run(seconds)
    stop = now + seconds
    threads = Array.new(THREADS) { |i| Thread.new { live(Random.new(i), stop) } }
    # The uploader never rests: a window is over every 50 ms, and each takes the server longer.
    threads << Thread.new { Array.new(200) { |i| i.to_s.to_sym.to_proc } while now < stop }
    threads.each(&:join)
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def live(random, stop)
    while now < stop
      kind = KINDS.sample(random:)
      next unless random.rand(RARELY.fetch(kind, 1)).zero?

      send(kind)
      @lock.synchronize { @counts[kind] += 1 }
    end
  end

  # In a child: whether it is sampled, and labels work, before it ends without ceremony.
  def check_in_child
    RperfPush.label(child: true) { Array.new(100, &:to_s) }
    exit!(RperfPush.running? && RperfPush.stats[:forks] == 1 ? 0 : 1)
  end

  def wait_for(pid, kind)
    Timeout.timeout(CHILD_WAIT) { Process.wait(pid) }
    raise "#{kind}: #{$?.inspect}" unless $?.success?
  rescue Timeout::Error
    warn "#{kind}: child #{pid} does not end", File.read("/proc/#{pid}/status")[/State.*/], File.read("/proc/#{pid}/wchan")
    Process.kill(:ABRT, pid) unless ENV["STRESS_KEEP"]
    raise
  end

  def fork = wait_for(Process.fork { check_in_child }, :fork)

  def fork_in_fiber = wait_for(Fiber.new { Process.fork { check_in_child } }.resume, :fork_in_fiber)

  def fork_that_starts_threads
    pid = Process.fork do
      Array.new(3) { |i| Thread.new { RperfPush.label(thread: i) { Array.new(500, &:to_s) } } }.each(&:join)
      GC.start
      check_in_child
    end
    wait_for(pid, :fork_that_starts_threads)
  end

  def fork_that_uploads
    pid = Process.fork do
      Array.new(5_000, &:to_s)
      delivered = RperfPush.flush(timeout: CHILD_WAIT / 2)
      RperfPush.shutdown(timeout: CHILD_WAIT / 4)
      exit!(delivered ? 0 : 2)
    end
    wait_for(pid, :fork_that_uploads)
  end

  # The child of a child is profiled as well, also of one that had no time to start anything.
  def fork_twice = wait_for(Process.fork { Process.wait(Process.fork { check_in_child }); exit!($?.exitstatus) }, :fork_twice)

  def popen
    pipe = IO.popen("-")
    return check_in_child unless pipe

    wait_for(pipe.pid, :popen)
    pipe.close
  end

  def system = (super("true") or raise "system: #{$?.inspect}")

  def spawn = wait_for(Process.spawn("true"), :spawn)

  # Its grandchild, which is on its own, says how it went.
  def daemon
    read, write = IO.pipe
    pid = Process.fork do
      Process.daemon(true, true)
      write << (RperfPush.running? ? "running" : "not running")
      write.close
      exit!
    end
    write.close
    Process.wait(pid)
    answer = Timeout.timeout(CHILD_WAIT) { read.read }
    read.close
    raise "daemon: #{answer.inspect}" unless answer == "running"
  end
end

# Takes its time before it reads, and before it answers.
def serve_slowly
  server = TCPServer.new("127.0.0.1", 0)
  pid = Process.fork do
    loop do
      Thread.new(server.accept) do |socket|
        loop do
          head = socket.gets("\r\n\r\n") or break
          sleep 0.02
          socket.read(head[/content-length: (\d+)/i, 1].to_i)
          sleep 0.05
          socket << "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        end
      rescue SystemCallError
        nil
      ensure
        socket.close
      end
    end
  end
  [server.addr[1], pid]
end

Thread.report_on_exception = false
port, server = serve_slowly
begin
  RperfPush.configure! do |config|
    config.application_name = "forking"
    config.backend = :http
    config.server_address = "http://127.0.0.1:#{port}/"
    config.upload_interval = 0.05
    config.frequency = 500
    config.shutdown_timeout = 1
    config.engine = ENV.fetch("STRESS_ENGINE", "signal")
  end
  forking = Forking.new
  forking.run(Float(ARGV.fetch(0)))
  stats = RperfPush.stats
ensure
  Process.kill(:KILL, server)
end
puts JSON.generate("counts" => forking.counts, "children" => forking.counts.values.sum, "stats" => stats)
