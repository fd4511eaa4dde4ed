# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# budget.rb - do captures keep to the budget, whatever the program does, and what do hooks cost?
class Budget < Benchmark
  TITLE = "The budget, under the worst program"

  PEERS = {
    "none" => ["none", {}],
    **Peers::FLOOR,
    "rperf-push, budget 1 %" => ["rperf_push", {}],
    "rperf-push, budget 5 %" => ["rperf_push", { overhead_limit: 0.05 }],
    "rperf-push, no budget" => ["rperf_push", { overhead_limit: 1.0 }]
  }.freeze

  private

  def sections
    cases = Peers.cases(PEERS, workload: "storm", count: quick? ? 100 : 8000, warm_up: quick? ? 20 : 4000, hz: 1000,
                               flags: @settings.flags)
    results = @runner.measure(wanted(cases), rounds: rounds(3))
    return "Nothing to compare with." unless results.key?("none")

    ["50 threads at stack depth 500 that pass the GVL on and on, with a frequency of 1000 Hz. *Measured* is `overhead_ns` over wall " \
     "time; *of that hooks* is the part of hooks (threads, GC), which does not depend on the period. Target: captures within the budget.",
     table(results)].join("\n\n")
  end

  def table(results)
    base = results["none"].map { |run| run[:cpu] }
    table = Table.new("", "CPU s", "ratio", "measured, % of a core", "of that hooks, %", "Hz in force",
                      "captures a second")
    results.each do |name, runs|
      cpu = runs.map { |run| run[:cpu] }
      table << [name, format("%.2f", Statistics.median(cpu)),
                format("%.3f×", Statistics.median(Statistics.ratios(cpu, base))), *measured(runs)]
    end
    table
  end

  def measured(runs)
    return [""] * 4 unless runs.first[:stats].last

    share = ->(stat) { Statistics.median(runs.map { |run| growth(run, stat) / run[:wall] }) }
    [format("%.2f", share[:overhead_ns] / 1e7), format("%.2f", share[:overhead_hooks_ns] / 1e7),
     format("%.1f", Statistics.median(runs.map { |run| run[:stats].last[:effective_frequency] })),
     format("%.0f", share[:samples_captured])]
  end

  def growth(run, stat) = run[:stats].last[stat] - run[:stats].first[stat]
end

Budget.main(__FILE__)
