# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/job_watch"
require_relative "support/peers"

# rotation.rb - how long the GVL is held when a large window ends, and what that allocates.
class Rotation < Benchmark
  TITLE = "Rotation of a large window"

  PROGRAM = { methods: 20_000, stacks: 34_000, depth: 150 }.freeze
  SMALL_PROGRAM = { methods: 500, stacks: 200, depth: 40 }.freeze
  PEERS = {
    "none" => ["none", {}],
    "rperf-push" => ["rperf_push", { overhead_limit: 1.0 }] # or it would stretch the period and never see all stacks
  }.freeze

  private

  def sections
    window = quick? ? 1 : 8
    program = quick? ? SMALL_PROGRAM : PROGRAM
    peers = PEERS.transform_values { |profiler, settings| [profiler, settings.merge(interval: window)] }
    cases = Peers.cases(peers, workload: "rotating", count: 0, hz: 1000, arguments: { window:, **program },
                               environment: Runner::LARGE_HEAP.merge(JobWatchBuild.environment), flags: @settings.flags)
    results = @runner.measure(wanted(cases), rounds: rounds(3))
    [explanation(program), table(results), *totals(results)].join("\n\n")
  end

  def explanation(program)
    "#{program[:methods]} methods, #{program[:stacks]} stacks of depth #{program[:depth]}. Each job that ran under the GVL was " \
      "timed; the medians of several runs. Target: no hold above 1 ms; no Ruby object per window in steady state."
  end

  def table(results)
    table = Table.new("", "jobs", "in all, ms", "longest, µs", "longest, µs of CPU", "objects allocated")
    results.each do |name, runs|
      { first: "frames are new", steady: "steady state", forgetting: "frames out of use" }.each do |phase, title|
        table << row("#{name}, #{title}", runs.map { |run| run[:said][phase] })
      end
    end
    table
  end

  def row(title, phases)
    middle = ->(field) { Statistics.median(phases.map { |phase| phase[field] }) }
    [title, middle[:count].round, format("%.1f", middle[:total_ns] / 1e6), format("%.0f", middle[:longest_ns] / 1e3),
     format("%.0f", middle[:longest_cpu_ns] / 1e3), middle[:objects].round]
  end

  def totals(results)
    stats = results["rperf-push"]&.last&.fetch(:stats)&.last or return []
    encoded = stats.values_at(:windows_closed, :samples_captured, :frames_known, :frames_dropped)
    [format("Of the last run: %d windows, %d captures, %d frames known and %d dropped.", *encoded)]
  end
end

Rotation.main(__FILE__)
