# frozen_string_literal: true

require_relative "support/attribution"
require_relative "support/benchmark"
require_relative "support/peers"
require_relative "workloads/timed_acts"

# distribution.rb - does a method get its share, whatever its thread did before: waited, began to exist, had another label?
class Shares < Benchmark
  TITLE = "Shares of CPU time after waits, in short threads, under labels"

  HZ = 199
  SECONDS = 8

  QUARTERS = TimedActs::PIECES.each_slice(3).zip(%w[first second third fourth]).to_h { |names, nth| ["#{nth} quarter", names] }.freeze

  # What is shown of each program: its acts.
  Row = Data.define(:title, :arguments, :acts)
  ROWS = [
    Row["1 thread: sleep, then 4.8 ms", { program: :naps_and_pieces, threads: 1 }, QUARTERS],
    Row["2 threads: sleep, then 4.8 ms", { program: :naps_and_pieces, threads: 2 }, QUARTERS],
    Row["3 threads: zlib, sleep, 6 ms", { program: :zlib_beside_naps, threads: 3 },
        { "zlib" => [:deflate], "sleep" => [:sleep], "6 ms of Ruby" => [:burn] }],
    Row["60 threads, short acts", { program: :short_acts, threads: 60 },
        { "3 ms" => [:long], "1 ms" => [:middle], "0.3 ms" => [:short] }],
    Row["a thread for each 2 ms", { program: :thread_for_each }, { "3 of 4 threads" => [:often], "1 of 4" => [:seldom] }],
    Row["204 labels in turn, 1.5 ms each", { program: :label_sets }, { "the only method" => [:labelled] }]
  ].freeze
  NOT_NAMED = "elsewhere"
  ALL = "**misplaced in all**"

  private

  def sections = [explanation, table, load_line].join("\n\n")

  def explanation
    "Share of the program's CPU time in each method, at #{HZ} Hz. *True* is what the threads' own CPU clocks say, in percent, the median " \
      "of all runs. The others are what a profiler shows less what is true in its own run, in percentage points. *Elsewhere*: what is " \
      "shown at none of the program's methods. *Misplaced in all*: half of the sum of these errors."
  end

  def table
    results = @runner.measure(cases, rounds: rounds(2))
    names = peers.keys.select { |name| ROWS.all? { |row| results.key?(name_of(name, row)) } }
    table = Table.new("", "", "true", *names)
    ROWS.each { |row| add_rows(table, row, names.map { |name| Attribution.of_all(results[name_of(name, row)]) }) }
    table
  end

  def load_line
    "Load average of the machine afterwards: #{File.read("/proc/loadavg").split.first(3).join(", ")}, on #{Etc.nprocessors} cores."
  end

  # `--profilers rperf-push` means both of its engines.
  def peers
    wanted = @settings.profilers
    wanted ? Peers::READABLE.select { |name, _| wanted.include?(name[/[^,]+/]) } : Peers::READABLE
  end

  def cases
    ROWS.flat_map do |row|
      Peers.cases(peers, workload: "timed_acts", count: quick? ? 0.5 : SECONDS, warm_up: 0, hz: HZ, flags: @settings.flags,
                         arguments: row.arguments, self_times: true)
           .map { |one| one.with(name: name_of(one.name, row)) }
    end
  end

  def name_of(peer, row) = "#{peer}: #{row.title}"

  def add_rows(table, row, seen)
    errors = seen.map { |one| row.acts.values.map { |methods| methods.sum { |name| one.errors[name] } } << one.lost }
    [*row.acts.keys, NOT_NAMED].zip(errors.transpose) do |act, of_each|
      table << [row.title, act, percent(truth(row.acts.fetch(act, []), seen)), *of_each.map { |error| points(error) }]
    end
    table << [row.title, ALL, "", *errors.map { |of_one| percent(of_one.sum(&:abs) / 2) }]
  end

  def truth(methods, seen) = Statistics.median(seen.map { |one| methods.sum { |name| one.truth(name) } })
  def points(error) = format("%+.1f", error)

  def percent(share) = format("%.1f", share)
end

Shares.main(__FILE__)
