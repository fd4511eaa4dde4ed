# frozen_string_literal: true

# What looking into a process costs: the control socket of one that nobody looks into, and `rperf-push live` on the shop at full load.
#
#   bin/with-ruby 3.4 bundle exec ruby benchmark/control.rb idle [SECONDS]
#   bin/with-ruby 3.4 bundle exec ruby benchmark/control.rb live [SECONDS]

require "etc"
require "net/http"
require "tmpdir"
require_relative "../lib/rperf_push"
require_relative "../lib/rperf_push/remote/control_client"
require_relative "../examples/support/shop_process"

LIB = File.expand_path("../lib", __dir__)
HERTZ = Etc.sysconf(Etc::SC_CLK_TCK)

def status(path, name) = File.read("#{path}/status")[/^#{name}:\s+(\d+)/, 1].to_i
def tasks(pid, prefix) = Dir["/proc/#{pid}/task/*"].select { |task| File.read("#{task}/comm").start_with?(prefix) }
def cpu_ns(task) = File.read("#{task}/schedstat").to_i

# --- idle: a process that sleeps, without and with a socket

# Three programs of each kind, as pages in use vary from start to start.
def sleeping(code)
  Array.new(3) do
    env = { "RPERF_PUSH_CONTROL_SOCKET" => Dir.mktmpdir }
    IO.popen([env, RbConfig.ruby, "-I", LIB, "-e", "#{code}; GC.start; puts 1; $stdout.flush; sleep"])
  end
end

def usage_of(pid) = [Dir["/proc/#{pid}/fd/*"].size, status("/proc/#{pid}", "VmRSS"), status("/proc/#{pid}", "VmSize")]

def idle(seconds)
  programs = { "without" => 'require "rperf_push"', "with" => 'require "rperf_push/control"' }.transform_values { |code| sleeping(code) }
  programs.values.flatten.each(&:gets)
  threads = programs["with"].flat_map { |pipe| tasks(pipe.pid, "rpp-control") }
  before = threads.map { |task| [cpu_ns(task), status(task, "voluntary_ctxt_switches")] }
  sleep seconds
  after = threads.map { |task| [cpu_ns(task), status(task, "voluntary_ctxt_switches")] }
  used, switches = after.zip(before).map { |new, old| new.zip(old).map { |one, other| one - other } }.transpose
  puts "the socket's thread in #{seconds} s, in three processes: #{used.inspect} ns of CPU time, #{switches.inspect} times awake"
  programs.each do |name, pipes|
    puts "#{name}: descriptors, resident KiB, KiB of address space: #{pipes.map { |pipe| usage_of(pipe.pid) }.inspect}"
  end
ensure
  programs.values.flatten.each { |pipe| Process.kill(:KILL, pipe.pid) }
end

# --- live: the shop, before, with the command and a browser, and after

# CPU time of a process and all of its children, in seconds.
def cpu_of_tree(pid)
  numbers = File.read("/proc/#{pid}/stat")[/\) (.*)/, 1].split
  children = Dir["/proc/#{pid}/task/*/children"].flat_map { |path| File.read(path).split }
  (numbers.values_at(11, 12).sum(&:to_i).fdiv(HERTZ)) + children.sum { |child| cpu_of_tree(child) }
rescue Errno::ENOENT, Errno::ESRCH
  0
end

PARTS = {
  "hooks, captures and jobs" => nil, "collectors" => "rpp-collector", "control" => "rpp-control", "uploader" => "rpp-uploader"
}.freeze

# CPU time of the profiler in the shop, in seconds: in the shop's threads, and in those of ours.
def profiler_seconds(client)
  said = client.ask("ps")
  PARTS.transform_values { |prefix| (prefix ? tasks(said["pid"], prefix).sum { |task| cpu_ns(task) } : said["overhead_ns"]) / 1e9 }
end

# @return [Array(Hash{String => Float}, Object)] shares of a core that the profiler took, and what the block said
def shares(client, shop, seconds)
  before, began = profiler_seconds(client), Process.clock_gettime(Process::CLOCK_MONOTONIC)
  load = Thread.new { shop.serve(seconds:, clients: 8) }
  said = yield
  load.value
  passed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  [profiler_seconds(client).to_h { |part, used| [part, (used - before[part]) / passed] }, said]
end

# What a page is sent in that time.
def bytes_sent(url, seconds)
  since, bytes, windows = 0, 0, 0
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
    body = Net::HTTP.get(URI("#{url}updates?since=#{since}"))
    head = JSON.parse(body.byteslice(5, body.unpack1("N")))
    bytes += body.bytesize unless since.zero?
    windows += head["windows"].size unless since.zero?
    since = head["next"]
  end
  [bytes, windows]
end

def live(seconds)
  require_relative "../spec/support/chromium"
  Dir.mktmpdir do |folder|
    sockets = "#{folder}/sockets"
    env = { "RPERF_PUSH_CONTROL_SOCKET" => sockets }
    shop = ShopProcess.new({ **env, "SHOP_PROFILE" => "1", "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => folder })
    client = RperfPush::ControlClient.new(Dir["#{sockets}/*.sock"].first)
    shop.serve(seconds: 3, clients: 8)
    alone, = shares(client, shop, seconds) { nil }
    command = File.expand_path("../exe/rperf-push", __dir__)
    pipe = IO.popen([env, RbConfig.ruby, "-I", LIB, command, "live", client.pid.to_s])
    url = pipe.gets[%r{http://\S+/}]
    with, (bytes, windows) = shares(client, shop, seconds) { bytes_sent(url, seconds) }
    puts format("the profiler in the shop: %.2f %% of a core alone, %.2f %% with live", alone.values.sum * 100, with.values.sum * 100)
    alone.each { |part, used| puts format("  %s: %.2f %% alone, %.2f %% with live", part, used * 100, with[part] * 100) }
    puts format("%.1f updates a second, %.1f KB a second", windows.fdiv(seconds), bytes / 1e3 / seconds)
    browser = Chromium.new
    %w[tree flame].each do |view|
      browser.show(url, view:, value: "wall")
      before = { command: cpu_of_tree(pipe.pid), browser: cpu_of_tree(browser.pid) }
      drawn = -> { browser.run("Number(document.body.dataset.drawn ?? 0)") }
      first = drawn.call
      shares(client, shop, seconds) { sleep seconds }
      puts format("%s view: the command %.1f %%, the browser %.1f %% of a core, drawn %.1f times a second", view,
                  (cpu_of_tree(pipe.pid) - before[:command]) * 100 / seconds, (cpu_of_tree(browser.pid) - before[:browser]) * 100 / seconds,
                  (drawn.call - first).fdiv(seconds))
    end
  ensure
    browser&.quit
    Process.kill(:INT, pipe.pid) if pipe
    shop&.stop
  end
end

seconds = Integer(ARGV.fetch(1, ARGV.first == "idle" ? "60" : "20"))
case ARGV.first
when "idle" then idle(seconds)
when "live" then live(seconds)
else abort "usage: control.rb idle|live [SECONDS]"
end
