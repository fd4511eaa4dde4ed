# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# overhead.rb - how much more CPU time a program takes with a profiler in it than without one.
class Overhead < Benchmark
  TITLE = "Overhead: CPU time of the whole process"

  # per: what the added CPU time is divided by, and how many of it each count has
  Scene = Data.define(:title, :workload, :count, :hz, :environment, :per, :target, :peers) do
    def initialize(title:, workload:, count:, target:, hz: 99, environment: {}, per: nil, peers: Peers::LIVE) = super
  end

  SCENES = [
    Scene.new(title: "Allocating loop, stack depth 80, 99 Hz, small heap", workload: "allocating", count: 1_000_000,
              target: "rperf-push ≤ 1.03×"),
    Scene.new(title: "Allocating loop, stack depth 80, 99 Hz, large heap", workload: "allocating", count: 1_000_000,
              environment: Runner::LARGE_HEAP, target: "rperf-push ≤ 1.03×"),
    Scene.new(title: "Pipe write and read, stack depth 100, 99 Hz", workload: "pipe", count: 120_000,
              per: ["GVL release", 2], target: "rperf-push adds ≤ 0.3 µs of CPU per GVL release"),
    Scene.new(title: "Ping-pong of two threads, stack depth 60, 10 Hz", workload: "ping_pong", count: 40_000, hz: 10,
              per: ["switch", 2], target: "rperf-push ≤ 1.02×", peers: { **Peers::LIVE, **Peers::FLOOR }),
    Scene.new(title: "Paused: pipe write and read, stack depth 100", workload: "pipe", count: 120_000, peers: Peers::PAUSED,
              per: ["GVL release", 2], target: "rperf-push adds ≤ 0.05 µs per GVL release, and ≤ 1 MB of memory")
  ].freeze

  private

  def sections = SCENES.map { |scene| section(scene) }.join("\n\n")

  def section(scene)
    @progress.heading("  #{scene.title}")
    results = @runner.measure(wanted(cases(scene)), rounds: rounds(15))
    return "### #{scene.title}\n\nNothing to compare with." unless results.key?("none")

    ["### #{scene.title}", "Target: #{scene.target}.", table(scene, results)].join("\n\n")
  end

  def cases(scene)
    count = quick? ? scene.count / 50 : scene.count
    Peers.cases(scene.peers, workload: scene.workload, count:, warm_up: count / 10, hz: scene.hz, environment: scene.environment,
                             flags: @settings.flags)
  end

  def table(scene, results)
    base = results.fetch("none")
    table = Table.new("", "CPU s", "ratio", "quartiles", "of the best runs",
                      *("added µs per #{scene.per.first}, median / best" if scene.per),
                      "GC runs (major)", "GC s", "memory grew, MB", "at stop, ms")
    results.each { |name, runs| table << row(name, runs, base, scene) }
    table
  end

  def row(name, runs, base, scene)
    cpu = runs.map { |run| run[:cpu] }
    ratio = Statistics.spread(Statistics.ratios(cpu, base.map { |run| run[:cpu] }))
    middle = ->(field) { Statistics.median(runs.map { |run| run[field] }) }
    [name, format("%.3f", Statistics.median(cpu)), format("%.3f×", ratio.median),
     format("%.3f–%.3f", ratio.low, ratio.high), format("%.3f×", cpu.min / base.map { |run| run[:cpu] }.min), *added(cpu, base, scene),
     format("%d (%d)", middle[:gc_count], middle[:gc_major]), format("%.3f", middle[:gc_time]),
     format("%.1f", middle[:resident] / 1e6), format("%.1f", middle[:stop_cpu] * 1000)]
  end

  def added(cpu, base, scene)
    return [] unless scene.per

    events = (quick? ? scene.count / 50 : scene.count) * scene.per.last
    base = base.map { |run| run[:cpu] }
    more = [Statistics.median(Statistics.differences(cpu, base)), cpu.min - base.min]
    [more.map { |seconds| format("%+.3f", seconds / events * 1e6) }.join(" / ")]
  end
end

Overhead.main(__FILE__)
