# frozen_string_literal: true

require_relative "support/benchmark"

# deferrals.rb - how many ticks are taken later than at their instants, and in which methods? Needs the testing build
# (rake compile:testing).
class Deferrals < Benchmark
  TITLE = "Ticks that are taken late"

  # Threads that run all the time, and what changes stacks, threads, objects or methods most often.
  WORKLOADS = {
    "burning" => { count: 6 }, "twenty_methods" => { count: 6 }, "timed_acts" => { count: 6, arguments: { program: :label_sets } },
    "allocating" => { count: 3_000_000 }, "escaping_blocks" => { count: 6 }, "closures" => { count: 6 }, "extending" => { count: 6 },
    "leaf_after_c" => { count: 6 }, "traced_allocations" => { count: 6 }, "pipe" => { count: 300_000 }, "ping_pong" => { count: 100_000 },
    "storm" => { count: 300 }
  }.freeze

  private

  def sections
    results = @runner.measure(cases, rounds: rounds(2))
    table = Table.new("", "ticks", "deferred", "late", "the method with the most")
    results.each { |name, runs| table << row(name, runs) }
    ["Ticks that drew, at 250 Hz with engine signal. *Deferred*: taken at the end of one of our own sections, or at a safepoint, as the " \
     "VM was changing the stack. *Late*: those of them that were taken more than 5 µs after their instants, and the method that has the " \
     "most of them.", table].join("\n\n")
  end

  def cases
    WORKLOADS.map do |workload, settings|
      count = quick? ? (settings[:count] / 20.0).ceil : settings[:count]
      Case.new(name: workload, workload:, profiler: "rperf_push_ticks", hz: 250, settings: { engine: :signal },
               flags: @settings.flags, **settings, count:)
    end
  end

  def row(name, runs)
    methods = runs.map { |run| run[:stats].last }.reduce { |all, more| all.merge(more) { |_, a, b| a.zip(b).map(&:sum) } }
    ticks, deferred, late = methods.values.transpose.map(&:sum)
    method, numbers = methods.max_by { |_, (_, _, late_ones)| late_ones }
    [name, ticks, share(deferred, ticks), share(late, ticks), numbers.last.zero? ? "–" : "#{method}: #{numbers.last}"]
  end

  def share(part, of) = format("%.1f %%", part * 100.0 / of)
end

Deferrals.main(__FILE__)
