# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"
require_relative "support/svg_plot"

# scaling.rb - cost against the number of threads, the depth of the stack, and the frequency.
class Scaling < Benchmark
  TITLE = "Scaling"

  THREADS = [1, 16, 256, 2048].freeze
  DEPTHS = [1, 25, 50, 100, 200, 400].freeze
  FREQUENCIES = [10, 50, 99, 250, 500, 1000].freeze

  private

  def sections = [by_threads, by_depth, by_frequency].join("\n\n")

  # --- sleeping threads

  def by_threads
    results = measure(THREADS) { |threads| thread_cases(threads) }
    series = results.transform_values { |points| points.map { |threads, runs| [threads, share(runs) { |run| run[:cpu] }] } }
    section("Sleeping threads", "CPU time in % of a core, 99 Hz.", "threads", "% of a core", series, log_x: true)
  end

  def thread_cases(threads)
    peers = Peers::LIVE.slice("none", "rperf-push", "stackprof", "vernier", "pf2", "pyroscope", "datadog", "rperf")
    Peers.cases(peers, workload: "sleeping", count: quick? ? 0.3 : 11, warm_up: 0.5, arguments: { threads: })
  end

  # --- depth

  def by_depth
    results = measure(DEPTHS) { |depth| burning({ depth: }, 1000) }
    series = results.transform_values do |points|
      points.map { |depth, runs| [depth, Statistics.median(runs.map { |run| per_capture(run) })] }
    end
    section("Depth of the stack", "One capture, from `RperfPush.stats`.", "depth", "µs", series)
  end

  def per_capture(run) = growth(run, :overhead_ns) / 1e3 / [growth(run, :samples_captured), 1].max

  # --- frequency

  def by_frequency
    results = measure(FREQUENCIES) { |hz| burning({ depth: 100 }, hz) }
    series = results.transform_values do |points|
      points.map { |hz, runs| [hz, share(runs) { |run| growth(run, :overhead_ns) / 1e9 }] }
    end
    section("Frequency", "Time in handlers, hooks and jobs, in % of a core, depth 100. A thread's own clock ticks with the kernel, " \
                         "which allows at most 250 captures a second by signal here.", "Hz", "% of a core", series)
  end

  def burning(arguments, hz)
    Peers.cases(Peers::OURS, workload: "burning", count: quick? ? 0.2 : 3, warm_up: 0.5, hz:, arguments:)
         .map { |one| one.with(settings: one.settings.merge(overhead_limit: 1.0)) }
  end

  # --- what they have in common

  # @return [Hash{String => Array<Array(Integer, Array<Hash>)>}] runs by x, by name
  def measure(xs)
    points = Hash.new { |all, name| all[name] = [] }
    xs.each do |x|
      @runner.measure(wanted(yield(x)), rounds: rounds(2)).each { |name, runs| points[name] << [x, runs] }
    end
    points
  end

  def share(runs) = Statistics.median(runs.map { |run| yield(run) / run[:wall] * 100 })
  def growth(run, stat) = run[:stats].last[stat] - run[:stats].first[stat]

  def section(title, text, x_label, y_label, series, **)
    name = "scaling_#{x_label}"
    plot = @report&.plot(name, SvgPlot.new(title: "#{title}: #{y_label}", x_label:, y_label:, series:, **))
    ["### #{title}", text, table(x_label, series), *plot].join("\n\n")
  end

  def table(x_label, series)
    xs = series.values.flatten(1).map(&:first).uniq.sort
    table = Table.new(x_label, *xs)
    series.each { |name, points| table << [name, *xs.map { |x| points.to_h[x]&.then { |value| format("%.3g", value) } }] }
    table
  end
end

Scaling.main(__FILE__)
