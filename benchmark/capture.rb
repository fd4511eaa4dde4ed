# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# capture.rb - what one capture takes, by the profiler's own clock: hot, when captures follow one another so closely that
# what they read stays in the caches, and as it is at the usual rate.
class Capture < Benchmark
  TITLE = "One capture"

  TARGETS = { 1 => 0.6, 100 => 1.5, 200 => 2.5 }.freeze
  WAYS = {
    "10 kHz, safepoint" => ["rperf_push_on_demand", { engine: :safepoint }, 10_000],
    "1 kHz, signal" => ["rperf_push", { engine: :signal, overhead_limit: 1.0 }, 1000],
    "99 Hz, signal" => ["rperf_push", { engine: :signal }, 99]
  }.freeze

  private

  def sections
    results = @runner.measure(cases, rounds: rounds(5))
    ["From the first instruction of ours to the last, on the application's thread: #{"`overhead_ns / samples_captured`"} of " \
     "`RperfPush.stats`. What the kernel takes for the signal and the timer comes on top.", table(results)].join("\n\n")
  end

  def cases
    WAYS.flat_map do |name, (profiler, settings, hz)|
      TARGETS.keys.map do |depth|
        Case.new(name: "#{name}, depth #{depth}", workload: "burning", profiler:, hz:, warm_up: 1,
                 count: quick? ? 0.3 : 3, arguments: { depth: }, settings:, flags: @settings.flags)
      end
    end
  end

  def table(results)
    table = Table.new("", "captures a second", "µs each", "target")
    results.each { |name, runs| table << row(name, runs) }
    table
  end

  def row(name, runs)
    captures = runs.map { |run| growth(run, :samples_captured) }
    each = runs.zip(captures).map { |run, count| growth(run, :overhead_ns) / 1000.0 / [count, 1].max }
    rates = runs.zip(captures).map { |run, count| count / run[:wall] }
    [name, format("%.0f", Statistics.median(rates)), format("%.2f", Statistics.median(each)),
     format("≤ %.1f", TARGETS[name[/\d+\z/].to_i])]
  end

  def growth(run, stat)
    before, after = run[:stats]
    after[stat] - before[stat]
  end
end

Capture.main(__FILE__)
