# frozen_string_literal: true

# What it costs to write and read files of profiles: `bin/with-ruby default bundle exec ruby benchmark/formats.rb`.
#
# Stacks that share nothing, the worst there is: 34,000 of depth 150 to save, and a pprof of 50 MB to report on. CPU time, so
# that other work on the machine does not matter; best of three.

require "tmpdir"
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "rperf_push"
require "rperf_push/cli"
require "rperf_push/cli/commands/report"

module FormatsBenchmark
  RANDOM = Random.new(1)
  FRAMES = Array.new(20_000) { |i| ["/app/lib/f#{i % 900}.rb", "Class#{i % 3000}#method_#{i}", i % 300] }

  module_function

  def data(stacks, depth)
    samples = Array.new(stacks) { |i| [Array.new(depth) { FRAMES[RANDOM.rand(FRAMES.size)] }, 1000 + i, 1 + (i % 20), 0] }
    { mode: :cpu, frequency: 1000, start_time_ns: 1, duration_ns: 10**10, sampling_count: stacks, aggregated_samples: samples,
      label_sets: [{}] }
  end

  def best(name)
    seconds = Array.new(3) do
      GC.start
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      yield
      Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before
    end
    puts format("%-40s %6.2f s", name, seconds.min)
  end

  def run
    Dir.mktmpdir do |folder|
      deep = data(34_000, 150)
      %w[json.gz pb.gz collapsed txt].each do |ending|
        best("save 34,000 stacks of 150 as .#{ending}") { RperfPush.save("#{folder}/p.#{ending}", deep) }
      end
      %w[json.gz pb.gz].each { |ending| best("load .#{ending}") { RperfPush.load("#{folder}/p.#{ending}") } }
      RperfPush.save(large = "#{folder}/large.pb.gz", data(150_000, 150))
      out = "#{folder}/out.txt"
      best(format("report --top of a pprof of %d MB", File.size(large) / 1_000_000)) do
        RperfPush::CLI::Commands::Report.new.run(["--top", "-o", out, large])
      end
    end
  end
end

FormatsBenchmark.run
