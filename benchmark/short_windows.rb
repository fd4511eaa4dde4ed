# frozen_string_literal: true

# What a method burns in bursts, beside programs that spin, and how much of it windows of different lengths show. A kernel that ends time
# slices between its ticks finds a thread by few of them where cores are scarce, so engine signal has few samples.
#
#   bin/with-ruby 3.4 ruby benchmark/short_windows.rb
#   bin/with-ruby 3.4 ruby benchmark/short_windows.rb --spinners 0,5 --intervals 100,1000 --rounds 3

require "optparse"
require "rbconfig"
$LOAD_PATH.unshift File.expand_path("../lib", __dir__)
require "rperf_push"
require "rperf_push/remote/remote_session"
require "rperf_push/remote/control_client"
require "rperf_push/data/merge"

BURSTS = 4
BURST_MS = 500
options = { spinners: [0, 5], intervals: [100, 1000], engines: %w[signal safepoint], rounds: 3 }
OptionParser.new do |parser|
  parser.on("--spinners LIST", Array) { |list| options[:spinners] = list.map { |text| Integer(text) } }
  parser.on("--intervals LIST", Array) { |list| options[:intervals] = list.map { |text| Integer(text) } }
  parser.on("--engines LIST", Array) { |list| options[:engines] = list }
  parser.on("--rounds N", Integer) { |rounds| options[:rounds] = rounds }
end.parse!

PROGRAM = <<~RUBY.freeze
  require "rperf_push/control"
  def clock = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  def burn(stop) = (nil while clock < stop)
  $stdout.sync = true
  puts "ready"
  gets
  #{BURSTS}.times { burn(clock + #{BURST_MS / 1e3}); sleep 0.4 }
  puts "done"
  gets
RUBY

def beside(spinners)
  pids = Array.new(spinners) { Process.spawn(RbConfig.ruby, "--disable-gems", "-e", "nil while true") }
  yield
ensure
  pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
end

# @return [Float] milliseconds
def shown(engine, interval_ms)
  folder = File.expand_path("../lib", __dir__)
  IO.popen([RbConfig.ruby, "-I", folder, "-e", PROGRAM], "r+") do |program|
    program.gets
    merge = RperfPush::Merge.new
    begun = done = false
    waiter = nil
    RperfPush::ControlClient.of(program.pid).connect("record", frequency: 99, mode: "cpu", interval_ms:, engine:) do |stream|
      RperfPush::RemoteSession.new(stream).each(seconds: 600) do |window|
        merge.add(window, process: 0) if window
        begun ||= program.puts("go") || (waiter = Thread.new { program.gets && sleep(2 * interval_ms / 1e3) && done = true })
        :stop if done
      end
    end
    waiter.join
    program.puts("end")
    merge.data[:aggregated_samples].sum { |frames, cpu| frames.any? { |frame| frame[1] == "Object#burn" } ? cpu : 0 } / 1e6
  end
end

$stdout.sync = true
puts format("%-10s %8s %10s   milliseconds shown of %d", "engine", "spinners", "windows", BURSTS * BURST_MS)
options[:spinners].product(options[:engines], options[:intervals]) do |spinners, engine, interval_ms|
  all = Array.new(options[:rounds]) { beside(spinners) { shown(engine, interval_ms) } }
  puts format("%-10s %8d %7d ms   %s", engine, spinners, interval_ms, all.map { |ms| ms.round.to_s }.join(", "))
end
