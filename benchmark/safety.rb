# frozen_string_literal: true

require_relative "support/attribution"
require_relative "support/benchmark"
require_relative "support/peers"

# safety.rb - what a profiler does to programs that are hard on profilers: does the program live, is it shown, does it grow?
class Safety < Benchmark
  TITLE = "Safety: programs that are hard on profilers"

  # shown: the method whose share of the CPU time is compared; grows: whether memory is
  Program = Data.define(:title, :workload, :seconds, :shown, :grows) do
    def initialize(title:, workload:, seconds: 10, shown: nil, grows: false) = super
  end

  PROGRAMS = [
    Program.new(title: "blocks that become lambdas, with `$~`", workload: "escaping_blocks"),
    Program.new(title: "class bodies that define methods from blocks", workload: "closures"),
    Program.new(title: "GC and compaction inside another tool's allocation hook", workload: "traced_allocations"),
    Program.new(title: "Ractors that collect garbage", workload: "ractors"),
    Program.new(title: "objects with methods of their own", workload: "extending", grows: true),
    Program.new(title: "a leaf method after C calls on many classes", workload: "leaf_after_c", seconds: 4, shown: :leaf),
    Program.new(title: "work after all signals were reset", workload: "reset_signals", seconds: 4, shown: :work)
  ].freeze

  PEERS = { "none" => ["none", {}], **Peers::READABLE, "datadog" => ["datadog", {}] }.freeze

  # Their results cannot be read back here.
  UNREADABLE = %w[none datadog].freeze

  private

  def sections = [explanation, table].join("\n\n")

  def explanation
    "#{@settings.flags.include?("--yjit") ? "With YJIT" : "In the interpreter"}, at 99 Hz, runs of each: #{rounds(3)}. *Lives*: " \
      "the program ended as it does without a profiler; else how it ended, in how many of the runs, and the shortest time until then. " \
      "*MB*: by how much the process grew while it worked. *%*: how much of a method's CPU time the profile shows."
  end

  def table
    table = Table.new("", *PROGRAMS.map(&:title))
    peers.each { |name, peer| table << [name, *PROGRAMS.map { |program| cell(program, name, peer) }] }
    table
  end

  def peers = @settings.profilers ? PEERS.select { |name, _| @settings.profilers.include?(name[/[^,]+/]) } : PEERS

  def cell(program, name, peer)
    return "–" if program.shown && UNREADABLE.include?(name)

    runs = Array.new(rounds(3)) do |round|
      @progress.at("round #{round + 1}: #{program.workload}, #{name}")
      outcome(one_case(program, name, peer))
    end
    ended = runs.select { |run| run[:ended] }
    ended.any? ? failure(ended, runs.size) : success(program, runs.map { |run| run[:answer] })
  end

  def one_case(program, name, peer)
    Peers.cases({ name => peer }, workload: program.workload, count: quick? ? 0.5 : program.seconds, flags: @settings.flags,
                                  self_times: !program.shown.nil?).first
  end

  def outcome(one)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    { answer: @runner.run(one) }
  rescue Runner::Failed => e
    { ended: e.message, after: Process.clock_gettime(Process::CLOCK_MONOTONIC) - began }
  end

  def failure(ended, of)
    format("**%<how>s** (%<times>d of %<of>d, after %<after>.1f s)",
           how: ended.first[:ended][/Segmentation fault|does not end|.{1,60}/], times: ended.size, of:,
           after: ended.map { |run| run[:after] }.min)
  end

  def success(program, answers)
    return "lives, #{format("%+.0f", Statistics.median(answers.map { |answer| answer[:resident] / 1e6 }))} MB" if program.grows
    return "lives" unless program.shown

    shares = answers.map { |answer| Attribution.new(answer) }.map { |seen| seen.seen(program.shown) / seen.truth(program.shown) * 100 }
    format("%.0f %%", Statistics.median(shares))
  end
end

Safety.main(__FILE__)
