# frozen_string_literal: true

# Many small processes that start at once, each profiled by itself, as a fleet does when it is deployed.
#
#   ruby -I lib spec/support/fleet.rb COUNT INTERVAL SECONDS URL
#
# Prints one line of JSON: when each began to be configured, in seconds since the epoch.

require "json"
require "rperf_push"

count, interval, seconds = ARGV.first(3).map { |text| Float(text) }
reader, writer = IO.pipe
present, say_present = IO.pipe
barrier, open_barrier = IO.pipe

children = Array.new(count.to_i) do |number|
  fork do
    reader.close
    open_barrier.close
    say_present.close
    barrier.read # until all are there
    started = Process.clock_gettime(Process::CLOCK_REALTIME)
    RperfPush.configure! do |config|
      config.application_name = "fleet"
      config.server_address = ARGV.fetch(3)
      config.tags = { member: number.to_s }
      config.upload_interval = interval
    end
    writer.puts started
    stop = started + seconds
    sleep 0.1 while Process.clock_gettime(Process::CLOCK_REALTIME) < stop
    exit!(true) # the last windows would all come now
  end
end
writer.close
say_present.close
present.read
open_barrier.close
puts JSON.generate(reader.each_line.map { |line| Float(line) })
children.each { |child| Process.wait(child) }
