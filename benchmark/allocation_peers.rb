# frozen_string_literal: true

# What it costs to be told who creates objects, beside others that tell it: CPU time of a program that does nothing else.
#
#   bin/with-ruby --benchmark 3.4 ruby benchmark/allocation_peers.rb [--rounds 3]
#
# Each case runs in a process of its own, one after the other in each round. A factor is the best round's over the best one without
# a profiler. Cases whose gem is not there are left out.

require "open3"
require "rbconfig"
require_relative "support/depth"
require_relative "workloads/allocating"

# How to begin and how to end; how many turns, each of which creates three objects.
Case = Struct.new(:name, :gem, :turns, :start, :stop)
MANY = 2_000_000
FEW = 100_000
QUIET = proc {}

ours = lambda do |name, turns = MANY, **options|
  Case.new("rperf-push, #{name}", "rperf_push", turns, -> { RperfPush.start(frequency: 99, **options) }, -> { RperfPush.stop })
end
CASES = [
  Case.new("none", nil, MANY, QUIET, QUIET),
  ours.call("cpu and wall", mode: %i[cpu wall]),
  ours.call("alloc", mode: :alloc),
  ours.call("cpu, wall and alloc", mode: %i[cpu wall alloc]),
  ours.call("alloc_interval: 1000", mode: :alloc, alloc_interval: 1000),
  ours.call("alloc_interval: 1", FEW, mode: :alloc, alloc_interval: 1),
  Case.new("stackprof :object, interval 1000", "stackprof", MANY,
           -> { StackProf.start(mode: :object, interval: 1000, raw: true) }, -> { StackProf.stop }),
  Case.new("stackprof :object, interval 1", "stackprof", FEW,
           -> { StackProf.start(mode: :object, interval: 1, raw: true) }, -> { StackProf.stop }),
  Case.new("vernier, allocation_interval 1000", "vernier", MANY,
           -> { Vernier.start_profile(allocation_interval: 1000) }, -> { Vernier.stop_profile }),
  Case.new("datadog, allocations", "datadog", MANY, lambda {
    ENV["DD_REMOTE_CONFIGURATION_ENABLED"] = ENV["DD_INSTRUMENTATION_TELEMETRY_ENABLED"] = "false"
    Datadog.configure do |config|
      config.logger.instance = Logger.new(File::NULL)
      config.tracing.enabled = false
      config.profiling.enabled = true
      config.profiling.allocation_enabled = true
      config.agent.host = "127.0.0.1"
      config.agent.port = 1
    end
    Datadog::Profiling.start_if_enabled or raise "its profiler does not start"
  }, QUIET),
  Case.new("allocation_tracer, path and line", "allocation_tracer", FEW, lambda {
    ObjectSpace::AllocationTracer.setup(%i[path line type])
    ObjectSpace::AllocationTracer.start
  }, -> { ObjectSpace::AllocationTracer.stop }),
  Case.new("ObjectSpace.trace_object_allocations", "objspace", FEW,
           -> { ObjectSpace.trace_object_allocations_start }, -> { ObjectSpace.trace_object_allocations_stop }),
  Case.new("memory_profiler", "memory_profiler", FEW, -> { ($reporter = MemoryProfiler::Reporter.new).start }, -> { $reporter.stop }),
  Case.new("memory_profiler and rperf-push, alloc", "memory_profiler", FEW, lambda {
    require "rperf_push"
    RperfPush.start(mode: :alloc, frequency: 99)
    ($reporter = MemoryProfiler::Reporter.new).start
  }, lambda {
    $reporter.stop
    RperfPush.stop
  })
].freeze

# @return [Float] CPU nanoseconds of a turn
def measured(one)
  require one.gem if one.gem
  Allocating.new.run(FEW / 10)
  one.start.call
  before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
  Allocating.new.run(one.turns)
  took = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond) - before
  one.stop.call
  took.fdiv(one.turns)
end

if ARGV.first == "--case"
  puts measured(CASES.find { |one| one.name == ARGV[1] })
  $stdout.flush
  exit!(0)
end

rounds = ARGV.first == "--rounds" ? Integer(ARGV[1]) : 3
times = Hash.new { |known, name| known[name] = [] }
rounds.times do
  CASES.each do |one|
    out, said, status = Open3.capture3(RbConfig.ruby, "-I#{File.expand_path("../lib", __dir__)}", __FILE__, "--case", one.name)
    status.success? ? times[one.name] << out.to_f : $stderr.puts("#{one.name}: #{said.lines.first}")
  end
end
least = times.fetch("none").min
puts "ruby #{RUBY_VERSION}, #{rounds} rounds, load #{File.read("/proc/loadavg")[/\S+/]}, #{format("%.0f", least)} ns of three objects"
times.each { |name, each| puts format("| %-38s | %6.2f× |", name, each.min / least) }
