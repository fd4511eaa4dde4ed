# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# minor_gc.rb - what a minor GC takes longer because a profiler knows many frames.
class MinorGc < Benchmark
  TITLE = "Minor GC with 20,000 known frames"

  PROGRAM = { methods: 20_000, stacks: 20_000, depth: 60 }.freeze
  PEERS = {
    "none" => ["none", {}],
    "rperf-push, off" => ["rperf_push_off", {}],
    "rperf-push" => ["rperf_push", { overhead_limit: 1.0, interval: 60 }],
    "rperf" => ["rperf", { mode: :wall }],
    "vernier" => ["vernier", {}]
  }.freeze

  private

  def sections
    program = quick? ? { methods: 200, stacks: 100, depth: 20 } : PROGRAM
    cases = Peers.cases(PEERS, workload: "minor_gcs", count: 200, warm_up: 1, hz: 1000, arguments: program,
                               environment: Runner::LARGE_HEAP, flags: @settings.flags)
    results = @runner.measure(wanted(cases), rounds: rounds(3))
    return "Nothing to compare with." unless results.key?("none")

    ["CPU time of the median GC of 200. Target: rperf-push adds at most 40 µs.", table(results)].join("\n\n")
  end

  def table(results)
    base = results["none"].map { |run| run[:said][:microseconds] }
    table = Table.new("", "µs", "added, µs", "frames known")
    results.each do |name, runs|
      times = runs.map { |run| run[:said][:microseconds] }
      known = runs.filter_map { |run| run[:stats].last&.fetch(:frames_known) }
      table << [name, format("%.0f", Statistics.median(times)),
                format("%+.0f", Statistics.median(Statistics.differences(times, base))), known.max || "?"]
    end
    table
  end
end

MinorGc.main(__FILE__)
