# frozen_string_literal: true

# Steps through the operations and holds what a tick finds at each instruction against what is true there.
#
#   RPERF_PUSH_TESTING_HZ=1 RPERF_PUSH_TESTING_RACTORS=1 ruby -I tmp/testing/lib -I lib -I BURNER spec/sweep/program.rb [--steps N] [--rounds N] [--burst N]
#     [--gap NS] [--seed N] [OPERATION...]
#
# The steps are at most of each operation; what is long is swept in bursts. Ends with one line of JSON.

require "burner"
require "json"
require "optparse"
require "rperf_push"
require "tmpdir"
require_relative "operations"
require_relative "sweeper"

options = { steps: 40_000, burst: 300, gap: 2_000_000, seed: Random.new_seed % 2**32, rounds: 1 }
parser = OptionParser.new do |o|
  options.each_key { |name| o.on("--#{name} N", Integer) { |n| options[name] = n } }
end
names = parser.parse(ARGV).map(&:to_sym)
names = Operations.all.keys if names.empty?
Warning[:experimental] = false
Thread.report_on_exception = false

Dir.mktmpdir do |folder|
  RperfPush.configure! do |config|
    config.application_name = "sweep"
    config.backend = :directory
    config.directory = folder
    config.directory_max_files = 10
    config.frequency = 1
    config.upload_interval = 5
    config.overhead_limit = 1
  end
  sweeper = Sweeper.new(options)
  results = sweeper.run(names)
  stats = RperfPush.stats
  RperfPush.shutdown
  puts JSON.generate("options" => options, "steps?" => RperfPush::Native.steps?, "operations" => results,
                     "faulted" => stats[:captures_faulted], "captured" => stats[:samples_captured], "stats" => stats)
end
