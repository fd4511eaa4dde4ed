# frozen_string_literal: true

# What WorkingProcess starts: requests of about 2 ms in one thread; in the other, the lines that come in are run.

require "json"
require "rperf_push"

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Works for so many seconds of CPU time.
def burn(seconds)
  finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  Math.sqrt(rand) until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish
end

def request
  started = now
  RperfPush.label(endpoint: "GET /work") { 5_000.times { |number| Math.sqrt(number) } }
  $slowest = [$slowest, now - started].max
  $requests += 1
end

$stdout.sync = true
$slowest = 0
$requests = 0
RperfPush.configure! { |config| config.application_name = "worker" }
Thread.new do
  loop do
    request
    sleep 0.02
  end
end
puts "ready"
while (line = $stdin.gets)
  begin
    puts JSON.generate([eval(JSON.parse(line)), nil])
  rescue StandardError => e
    puts JSON.generate([nil, e.full_message(highlight: false)])
  end
end
