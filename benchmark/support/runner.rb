# frozen_string_literal: true

require "rbconfig"
require "tempfile"
require "tmpdir"
require_relative "sink"

# One way to run one workload: `profiler` names a file of support/profilers, `settings` are its options.
Case = Data.define(:name, :workload, :profiler, :count, :warm_up, :arguments, :settings, :hz, :environment, :flags, :self_times) do
  def initialize(name:, workload:, profiler:, count:, warm_up: 0, arguments: {}, settings: {}, hz: 99, environment: {},
                 flags: [], self_times: false)
    super
  end
end

# Runs cases in processes of their own, in turn: whatever else the machine does then meets all of them alike.
class Runner
  Failed = Class.new(StandardError)

  CHILD = File.expand_path("child.rb", __dir__)

  # Enough slots that no heap has to grow: otherwise each gem that is loaded changes how often the GC runs.
  SMALL_HEAP = (0..4).to_h { |pool| ["RUBY_GC_HEAP_#{pool}_INIT_SLOTS", [60_000, 40_000, 20_000, 10_000, 10_000][pool].to_s] }.freeze
  LARGE_HEAP = (0..4).to_h { |pool| ["RUBY_GC_HEAP_#{pool}_INIT_SLOTS", [1_000_000, 600_000, 200_000, 50_000, 50_000][pool].to_s] }.freeze

  # @return [Array<String>] what could not be measured, and why
  attr_reader :failures

  # @param progress [Progress]
  def initialize(progress, timeout: 300)
    @progress = progress
    @timeout = timeout
    @failures = []
    @sink = Sink.new
  end

  # @param cases [Array<Case>]
  # @return [Hash{String => Array<Hash>}] by name; a case that failed is missing: see failures
  def measure(cases, rounds:)
    results = cases.to_h { |one| [one.name, []] }
    rounds.times do |round|
      cases.shuffle.each do |one|
        next unless results.key?(one.name)

        @progress.at("round #{round + 1} of #{rounds}: #{one.workload}, #{one.name}")
        results[one.name] << run(one)
      rescue Failed => e
        results.delete(one.name)
        @failures << "#{one.name} (#{one.workload}): #{e.message}"
      end
    end
    results
  end

  # @return [Hash] what the child measured
  def run(one)
    Dir.mktmpdir("rperf-push-benchmark-") do |folder|
      order = { workload: one.workload, profiler: one.profiler, count: one.count, warm_up: one.warm_up,
                arguments: one.arguments, self_times: one.self_times,
                settings: { hz: one.hz, sink: @sink.url, folder:, **one.settings } }
      answer_of(one, [Marshal.dump(order)].pack("m0"))
    end
  end

  def close = @sink.close

  private

  # Bundler itself stays out of the child; its load path is all that is needed.
  def environment_of(one)
    { "RUBYLIB" => $LOAD_PATH.select { |path| File.directory?(path) }.join(File::PATH_SEPARATOR),
      "RUBYOPT" => nil, "RPERF_PUSH_ENABLED" => nil, **SMALL_HEAP, **one.environment }
  end

  def answer_of(one, order)
    log = Tempfile.new("benchmark")
    reader, writer = IO.pipe(binmode: true)
    pid = spawn(environment_of(one), RbConfig.ruby, *one.flags, CHILD, order,
                3 => writer, in: File::NULL, %i[out err] => log.path)
    writer.close
    answer = read_until_timeout(reader, pid)
    Process.wait(pid)
    raise Failed, reason(log, Process.last_status) if answer.empty?

    Marshal.load(answer)
  ensure
    reader.close
    log.close!
  end

  def read_until_timeout(reader, pid)
    answer = Thread.new { reader.read }
    return answer.value if answer.join(@timeout)

    Process.kill(:KILL, pid)
    ""
  end

  def reason(log, status)
    return "it did not end within #{@timeout} s" if status.signaled? && status.termsig == Signal.list["KILL"]

    lines = File.readlines(log.path, chomp: true).reject(&:empty?)
    (lines.grep(/Error|error|BUG/).first || lines.first || status.to_s).sub(%r{\A\S*/}, "")
  end
end
