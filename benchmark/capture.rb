# frozen_string_literal: true

require_relative "support/benchmark"
require_relative "support/peers"

# capture.rb - what one capture takes, by the profiler's own clock: at best, when they follow one another at once and find all
# they read in the caches, and as it is at the usual rates, after other work and an interrupt.
class Capture < Benchmark
  TITLE = "One capture"

  TARGETS = { 1 => 0.6, 100 => 1.5, 200 => 2.5 }.freeze
  WAYS = {
    "1 kHz, signal" => ["rperf_push", { engine: :signal, overhead_limit: 1.0 }, 1000],
    "99 Hz, signal" => ["rperf_push", { engine: :signal }, 99]
  }.freeze

  private

  def sections
    at_best = @runner.measure(wanted(hot_cases), rounds: rounds(5))
    usual = @runner.measure(wanted(cases), rounds: rounds(5))
    ["Captures run one after the other, with hot caches; each reads the thread's CPU clock with one system call.", hot_table(at_best),
     "Captures in a real run: `overhead_ns / samples_captured` of `RperfPush.stats`, from the first instruction of the handler to " \
     "the last. The handler reads the CPU clock and sets the timer again, which is another system call, and the interrupt before it " \
     "leaves the caches cold.",
     table(usual)].join("\n\n")
  end

  def hot_cases
    [false, true].product(TARGETS.keys).map do |lines, depth|
      Case.new(name: "#{lines ? "with" : "without"} lines, depth #{depth}", workload: "capturing", hz: 99, warm_up: 3,
               profiler: "rperf_push_testing", settings: { engine: :safepoint, lines: }, arguments: { depth: },
               count: quick? ? 5 : 60, flags: @settings.flags)
    end
  end

  def hot_table(results)
    table = Table.new("", "µs", "of these the CPU clock", "target")
    results.each do |name, runs|
      each, clock = %i[capture_ns clock_ns].map { |field| Statistics.median(runs.map { |run| run[:said][field] }) / 1000 }
      table << [name, format("%.2f", each), format("%.2f", clock), format("≤ %.1f", TARGETS[name[/\d+\z/].to_i])]
    end
    table
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
    table = Table.new("", "captures a second", "µs each")
    results.each { |name, runs| table << row(name, runs) }
    table
  end

  def row(name, runs)
    captures = runs.map { |run| growth(run, :samples_captured) }
    each = runs.zip(captures).map { |run, count| growth(run, :overhead_ns) / 1000.0 / [count, 1].max }
    rates = runs.zip(captures).map { |run, count| count / run[:wall] }
    [name, format("%.0f", Statistics.median(rates)), format("%.2f", Statistics.median(each))]
  end

  def growth(run, stat)
    before, after = run[:stats]
    after[stat] - before[stat]
  end
end

Capture.main(__FILE__)
