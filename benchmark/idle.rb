# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# idle.rb - what a profiler does in a process that sleeps.
class Idle < Benchmark
  TITLE = "A process that sleeps, 99 Hz"

  private

  def sections
    seconds = quick? ? 0.5 : 12
    cases = Peers.cases(workload: "sleeping", count: seconds, warm_up: quick? ? 0.1 : 2, flags: @settings.flags)
    results = @runner.measure(wanted(cases), rounds: rounds(2))
    ["Over #{seconds} s, all threads of the process. Target: rperf-push ≤ 0.05 % of a core, ≤ 2 wake-ups a second.",
     table(results)].join("\n\n")
  end

  def table(results)
    table = Table.new("", "CPU, % of a core", "wake-ups a second")
    results.each do |name, runs|
      table << [name, format("%.3f", Statistics.median(runs.map { |run| run[:cpu] / run[:wall] * 100 })),
                format("%.1f", Statistics.median(runs.map { |run| run[:switches] / run[:wall] }))]
    end
    table
  end
end

Idle.main(__FILE__)
