# frozen_string_literal: true

# A program with one large window: threads that wait at many different lines, each for longer than a sampling period.
#
#   ruby -I lib spec/support/large_window.rb THREADS LINES URL
#
# Prints RperfPush.stats as one line of JSON, once all is delivered or lost.

require "json"
require "rperf_push"

threads, lines = ARGV.first(2).map { |text| Integer(text) }
methods = Array.new(threads) { |number| "def wait#{number}\n#{"  sleep 0.001\n" * lines}end\n" }
eval(methods.join, TOPLEVEL_BINDING, "generated.rb", 1)

RperfPush.configure! do |config|
  config.application_name = "large"
  config.server_address = ARGV.fetch(2)
  config.frequency = 1000
  config.overhead_limit = 1.0
  config.upload_interval = 30 * 60
  config.upload_timeout = 60
end
Array.new(threads) { |number| Thread.new { send("wait#{number}") } }.each(&:join)
RperfPush.flush(timeout: 150)
$stdout.sync = true
puts JSON.generate(RperfPush.stats)
exit!(true) # the window since then is of no interest
