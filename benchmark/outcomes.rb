# frozen_string_literal: true

require "rperf_push/rack"

# outcomes.rb - what a request pays for its labels, without and with outcome_labels: CPU time, the least of several turns.
#
#   bin/with-ruby 3.4 bundle exec ruby -Ilib benchmark/outcomes.rb

TURNS = 5
REQUESTS = 8000
APP = RperfPush::RackMiddleware.new(->(_env) { [200, {}, []] })

def profile(outcome_labels)
  RperfPush.configure! do |config|
    config.server_address = "http://127.0.0.1:9" # nobody is there
    config.shutdown_timeout = 0.1
    config.logger = File.open(File::NULL, "w")
    config.outcome_labels = outcome_labels
  end
end

def microseconds_of_a_request
  began = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  REQUESTS.times { APP.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/7") }
  (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - began) / REQUESTS * 1e6
end

without, with = Array.new(TURNS) { [false, true].map { |wanted| profile(wanted); microseconds_of_a_request } }.transpose.map(&:min)
puts format("a request of a middleware alone: %<without>.2f us, with outcome_labels %<with>.2f us", without:, with:)
