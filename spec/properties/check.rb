# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "plan"
require_relative "ways"
require_relative "runner"
require_relative "laws"

module Properties
  # Seeds one after the other, each in one way: what they break, and how often what was tried.
  class Check
    Failure = Data.define(:seed, :way, :breaches, :plan)

    TRIES = 40 # of smaller programs, after a breach
    MOST_VARIANCE = 1.2
    POOLED = 200 # tasks, from which on they say something together
    WIDTH = 6 # of a number in the matrix

    attr_reader :failures, :programs

    def initialize(out: $stdout)
      @out = out
      @failures = []
      @programs = 0
      @scores = Hash.new { |all, way| all[way] = [] }
      @matrix = Hash.new(0)
    end

    # @param seed [Integer] the plan, and the way unless one is named
    # @return [Array<String>] breaches
    def seed(seed, name = nil)
      plan = Draw.new(seed).plan
      way = WAYS.fetch(name || WAYS.keys.drop(1)[seed % (WAYS.size - 1)])
      breaches, scores = try(plan, way)
      @programs += 1
      scores.each { |value, some| @scores["#{value}, engine #{plan.engine}, #{way.name}"].concat(some) }
      tally(plan, way)
      tell(seed, way, plan, breaches) if breaches.any?
      breaches
    end

    # The smallest program that still breaks something, as far as some tries find it.
    #
    # @return [Plan]
    def shrink(failure)
      tries = TRIES
      plan = failure.plan
      while (smaller = plan.smaller.lazy.take([tries, 0].max).find { |one| (tries -= 1) && try(one, WAYS.fetch(failure.way)).first.any? })
        plan = smaller
      end
      plan
    end

    # What no single program shows: tasks of all of them together, for each value and engine, and for each way of these.
    #
    # @return [Array<String>] breaches
    def pooled
      pools.select { |_, scores| scores.size >= POOLED }.flat_map do |name, scores|
        mean, variance = moments(scores)
        [*("#{name}: the mean of z is #{mean.round(3)} over #{scores.size} tasks" if mean.abs > Laws::BOUND / Math.sqrt(scores.size)),
         *("#{name}: the variance of z is #{variance.round(2)} over #{scores.size} tasks" if variance > MOST_VARIANCE)]
      end
    end

    # @param seconds [Numeric]
    def seeds_for(seconds, from:)
      till = clock + seconds
      (from..).each do |seed|
        break if clock > till

        seed(seed)
      end
    end

    # How often each kind of task, each ending and each kind of child was tried in each way.
    def print_matrix
      columns = Draw::AMOUNTS.keys + Draw::ENDINGS.map { |name| :"ends:#{name}" } + Draw::HOWS.map { |name| :"by:#{name}" }
      ways = WAYS.keys.drop(1)
      @out.puts(format("%-14s", "") + columns.map { |name| format(" %*s", WIDTH, name) }.join)
      ways.each { |way| @out.puts(format("%-14s", way) + columns.map { |name| format(" %*d", [WIDTH, name.size].max, @matrix[[way, name]]) }.join) }
      @out.puts "#{ways.product(columns).count { |cell| @matrix[cell].zero? }} of #{ways.size * columns.size} cells are empty"
      pools.each do |name, scores|
        @out.puts format("%-34s %5d tasks: mean of z %+.2f (± %.2f), variance %.2f", name, scores.size, *moments(scores).insert(1, 2 / Math.sqrt(scores.size))) if scores.size > 1
      end
    end

    private

    def pools = @scores.group_by { |name, _| name[/(.*),/, 1] }.transform_values { |some| some.flat_map(&:last) }.merge(@scores)

    def moments(scores)
      mean = scores.sum / scores.size
      [mean, scores.sum { |score| (score - mean)**2 } / (scores.size - 1)]
    end

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # The program alone and the profiled one run at the same time.
    #
    # @return [Array(Array<String>, Hash)]
    def try(plan, way)
      Dir.mktmpdir("properties-") do |folder|
        alone, outcome = [WAYS.fetch("alone"), way].map { |one| in_background { Runner.new(File.join(folder, one.name)).run(plan, one) } }.map(&:value)
        laws = Laws.new(plan, way, outcome, alone)
        [laws.breaches, laws.scores]
      rescue RperfPush::FormatError => e
        [["a profile can not be read: #{e.message}"], {}]
      end
    end

    def in_background
      Thread.new do
        Thread.current.report_on_exception = false # whoever asks for the value gets it
        yield
      end
    end

    def tally(plan, way)
      kinds = plan.tasks.map(&:kind) + plan.parts.map { |part| :"ends:#{part.ending}" } + plan.parts.flat_map(&:children).map { |child| :"by:#{child.how}" }
      kinds.tally.each { |kind, count| @matrix[[way.name, kind]] += count }
    end

    def tell(seed, way, plan, breaches)
      @failures << Failure.new(seed:, way: way.name, breaches:, plan:)
      @out.puts "seed #{seed}, #{way.name}: #{breaches.join("; ")}", "  again: rake properties SEED=#{seed} WAY=#{way.name}"
    end
  end

  # @return [Boolean] whether all laws held
  def self.main(seconds:, seed:, way:)
    $stdout.sync = true
    check = Check.new
    seed ? check.seed(Integer(seed), way) : check.seeds_for(Float(seconds), from: Random.new_seed % 1_000_000_000)
    check.failures.first(3).each { |failure| puts "the smallest that fails like seed #{failure.seed}: #{check.shrink(failure).root}" }
    check.print_matrix
    breaches = check.pooled.each { |breach| puts breach }
    puts "#{check.programs} programs on Ruby #{RUBY_VERSION}, #{check.failures.size} broke a law"
    check.failures.empty? && breaches.empty?
  end
end
