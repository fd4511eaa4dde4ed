# frozen_string_literal: true

require_relative "laws/counts"
require_relative "laws/lives"
require_relative "laws/loss"
require_relative "laws/times"
require_relative "laws/traces_left"

module Properties
  # What holds for every program, in every way to profile it. A breach is a line of text.
  class Laws
    # One check in a run may be wrong by chance once in a thousand hours, with so many checks an hour.
    CHECKS_AN_HOUR = 20_000
    HOURS = 1_000
    CHANCE = 1.0 / (CHECKS_AN_HOUR * HOURS)
    # Two-sided, of the normal distribution.
    BOUND = (0.0..20.0).bsearch { |z| Math.erfc(z / Math.sqrt(2)) <= CHANCE }

    # @return [Hash{Symbol => Array<Float>}] in standard errors: how far each task was from its truth, in CPU time and in wall time
    attr_reader :scores

    # @param alone [Outcome] of the same plan without a profiler
    def initialize(plan, way, outcome, alone)
      @plan = plan
      @way = way
      @outcome = outcome
      @alone = alone
      @scores = { cpu: [], wall: [] }
    end

    # @return [Array<String>]
    def breaches
      return ["no truth was written: #{@outcome.err.lines.last(5).join}"] if @outcome.truth.empty?

      [*harmless, *nothing_taken, *TracesLeft.new(@plan, @way, @outcome).breaches, *Loss.new(@way, @outcome).breaches, *@outcome.takes.flat_map { |take| of(take) }]
    end

    private

    def of(take)
      lives = Lives.new(@plan, @way, @outcome, take)
      times = Times.new(lives)
      found = [*times.breaches, *Counts.new(lives).breaches]
      times.scores.each { |value, scores| @scores[value].concat(scores) }
      @outcome.takes.one? ? found : found.map { |breach| "#{take.source}: #{breach}" }
    end

    ENOUGH_NS = 300_000_000 # CPU time of a program that comes to safepoints for long enough to be found from outside
    private_constant :ENOUGH_NS

    # Of no profile at all the other laws could say nothing. A process that ends before its first window is over may
    # take it along: then the command says that it has gone.
    def nothing_taken
      root = @outcome.truth.select { |fact| fact[:thread] && fact[:part] == @plan.root.number }
      return [] if @outcome.said.include?("the process has gone")
      return [] unless @way.outside && Lives::SILENT.none?(@plan.root.ending) && root.sum { |life| life[:cpu] } > ENOUGH_NS

      @outcome.takes.last.datas.empty? ? ["#{@way.outside} has recorded nothing"] : []
    end

    # Exit status, output and errors are those of the program alone.
    def harmless
      [("it ended #{@outcome.ending}, alone #{@alone.ending}" unless same_ending?),
       *difference("output", @outcome.out.lines.sort, @alone.out.lines.sort), *difference("errors", errors(@outcome), errors(@alone))].compact
    end

    # A shell would say the same of both.
    def same_ending? = [@outcome, @alone].map { |one| one.status.exitstatus || (128 + one.status.termsig) }.uniq.size == 1
    def difference(what, got, wanted) = got == wanted ? [] : ["#{what}: #{(got - wanted).first(3).inspect} instead of #{(wanted - got).first(3).inspect}"]

    OURS = /\A(?:\[rperf-push\]|\[RperfPush\]|rperf-push:)/
    REPORT = /^ *Performance stats for .*/m # of stat and exec, at the end
    private_constant :OURS, :REPORT

    # Processes write theirs in any order, and backtraces name files and lines of ours as well.
    def errors(outcome)
      outcome.err.sub(REPORT, "").lines.grep_v(OURS).map { |line| line.gsub(/\S+\.rb:\d+/, "FILE") }.grep_v(/^\s+(?:from|\d+:)|^\n\z/).sort
    end
  end
end
