# frozen_string_literal: true

require_relative "support/attribution"
require_relative "support/benchmark"
require_relative "support/peers"

# accuracy.rb - is the method that a profile names the one that ran? Twenty methods, in Ruby and in C, one of which is made
# slower: the profile should move by that amount at that method, and nowhere else.
class Accuracy < Benchmark
  TITLE = "Accuracy: a known slowdown among twenty methods"

  HZ = 200
  SLOWED = { base: nil, ruby: :triangle, c: :tr }.freeze
  THREADS = [1, 4].freeze
  PEERS = { **Peers::READABLE, "ruby-prof" => ["ruby_prof", {}] }.freeze

  private

  def sections = [explanation, table].join("\n\n")

  def explanation
    "#{interpreter}. In percentage points of the program's CPU time. The program times its methods itself while it is profiled, at " \
      "#{HZ} Hz. *Mean* and *worst*: how far the share of a method is off. *Ruby*, *C*: by how much the slowed method's share " \
      "grew, seen and true. *Elsewhere*: the largest change at another method that did not happen. *Lost*: the share of what " \
      "is none of the twenty, such as their callers."
  end

  def interpreter = @settings.flags.include?("--yjit") ? "With YJIT" : "In the interpreter"

  def table
    table = Table.new("", "threads", "mean", "worst", "Ruby: seen / true", "C: seen / true", "elsewhere", "lost")
    results = @runner.measure(cases, rounds: rounds(1))
    peers.each_key { |name| THREADS.each { |threads| add_row(table, name, threads, results) } }
    table
  end

  # `--profilers rperf-push` means both of its engines.
  def peers
    wanted = @settings.profilers
    wanted ? PEERS.select { |name, _| wanted.include?(name[/[^,]+/]) } : PEERS
  end

  def cases
    THREADS.product(SLOWED.to_a).flat_map do |threads, (which, slow)|
      Peers.cases(peers, workload: "twenty_methods", count: quick? ? 0.5 : 4, warm_up: 0, hz: HZ, flags: @settings.flags,
                         arguments: { slow:, threads: }, self_times: true)
           .map { |one| one.with(name: name_of(one.name, threads, which)) }
    end
  end

  def name_of(peer, threads, which) = "#{peer}, #{threads} threads, #{which}"

  def add_row(table, name, threads, results)
    runs = SLOWED.keys.to_h { |which| [which, results[name_of(name, threads, which)]&.map { |run| Attribution.new(run) }] }
    return if runs.values.any?(&:nil?)

    table << [name, threads, *numbers(runs)]
  end

  def numbers(runs)
    all = runs.values.flatten
    points = ->(number) { format("%.1f", number) }
    moves = %i[ruby c].map { |which| runs[:base].zip(runs[which]).map { |base, slowed| slowed.moved_since(base, SLOWED[which]) } }
    [points[Statistics.median(all.map(&:mean))], points[all.map(&:worst).max],
     *moves.map { |pairs| format("%+.1f / %+.1f", *%i[seen was].map { |side| Statistics.median(pairs.map { |move| move[side] }) }) },
     points[moves.flatten.map { |move| move[:elsewhere] }.max], points[Statistics.median(all.map(&:lost))]]
  end
end

Accuracy.main(__FILE__)
