# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"
require_relative "support/svg_plot"

# memory.rb - does the profiler let go of what a program that never does the same twice has long forgotten?
class Memory < Benchmark
  TITLE = "Memory under churn"

  PEERS = {
    "none" => ["none", {}],
    "rperf-push" => ["rperf_push", { interval: 600, overhead_limit: 1.0 }] # windows end when the program says so
  }.freeze

  private

  def sections
    windows = quick? ? 10 : 200
    cases = Peers.cases(PEERS, workload: "churning", count: windows, hz: 1000, flags: @settings.flags)
    results = @runner.measure(wanted(cases), rounds: 1).transform_values(&:first)
    ["#{windows} windows, each with 20 threads, labels, reloaded classes and objects with singleton methods of its own. Resident " \
     "memory after a full GC. Target: a plateau; no object kept alive.", table(results), *drawn(results)].join("\n\n")
  end

  def table(results)
    table = Table.new("", "MB after a quarter", "half", "all", "objects alive of all", "pprof bytes a window, first and last")
    results.each do |name, run|
      said = run[:said]
      sizes = said[:sizes].map { |_, bytes| bytes / 1e6 }
      places = [0.25, 0.5, 1].map { |share| format("%.1f", sizes[((sizes.size - 1) * share).round]) }
      table << [name, *places, "#{said[:alive]} of #{said[:sizes].last.first * 20}", bytes_per_window(said)]
    end
    table
  end

  def bytes_per_window(said)
    steps = said[:bytes].each_cons(2).map { |before, after| (after - before) / 5 }
    steps.empty? || steps.sum.zero? ? "" : "#{steps.first} – #{steps.last}"
  end

  def drawn(results)
    return [] unless @report

    series = results.transform_values { |run| run[:said][:sizes].map { |window, bytes| [window, bytes / 1e6] } }
    thinned = series.transform_values { |points| points.each_slice(4).map(&:last) }
    [@report.plot("memory", SvgPlot.new(title: TITLE, x_label: "windows", y_label: "resident memory, MB", series: thinned))]
  end
end

Memory.main(__FILE__)
