# frozen_string_literal: true

module Properties
  # What holds for every program, in every way to profile it. A breach is a line of text.
  class Laws
    # One check in a run may be wrong by chance once in a thousand hours, with so many checks an hour.
    CHECKS_AN_HOUR = 20_000
    HOURS = 1_000
    CHANCE = 1.0 / (CHECKS_AN_HOUR * HOURS)
    # Two-sided, of the normal distribution.
    BOUND = (0.0..20.0).bsearch { |z| Math.erfc(z / Math.sqrt(2)) <= CHANCE }
    EXACT = 0.01 # of a sum of clocks, and two periods a thread
    SOON_NS = 150_000_000
    END_NS = 30_000_000 # what a process may burn after its last look at its clock
    OURS = /\A(?:\[rperf-push\]|\[RperfPush\]|rperf-push:)/
    SILENT = %i[exit! signal].freeze # such a process tells nobody that it ends: what it has not delivered yet is lost

    # @return [Array<Float>] in standard errors: how far the CPU time of each act was from its truth
    attr_reader :scores

    # @param alone [Outcome] of the same plan without a profiler
    def initialize(plan, way, outcome, alone)
      @plan = plan
      @way = way
      @outcome = outcome
      @alone = alone
      @scores = []
    end

    # @return [Array<String>]
    def breaches
      return ["no truth was written: #{@outcome.err.lines.last(5).join}"] if @outcome.truth.empty?

      [*harmless, *nothing_left, *(conservation + distribution + own_labels + counts unless @way.values.empty?)].compact
    end

    private

    def seen = @seen ||= Seen.new(@outcome.datas)
    def lives = @lives ||= @outcome.truth.select { |fact| fact[:thread] }
    def parts = @parts ||= @plan.parts.to_h { |part| [part.number, part] }
    def reached?(number) = @way.reach == :all || number == @plan.root.number

    # Whether all of a process has to be in the profile.
    def told?(number)
      return false unless reached?(number)

      return true if @way.inner? && number == @plan.root.number

      SILENT.none?(parts[number].ending) && !execs_at_once?(number)
    end

    # A forked child that becomes another program at once sends nothing (docs/delivery.md).
    def execs_at_once?(number)
      @way.session == :continuous && parts[number].ending == :exec && lives.select { |life| life[:part] == number }.all? { |life| life[:wall] < SOON_NS }
    end

    def within(what, got, low, high = low, slack: 0.0)
      return if got.between?((low * (1 - EXACT)) - slack, (high * (1 + EXACT)) + slack)

      "#{what}: #{ms(got)}, true is #{low == high ? ms(low) : "#{ms(low)} to #{ms(high)}"} ± #{ms(slack)}"
    end

    def ms(nanoseconds) = format("%.1f ms", nanoseconds / 1e6)

    # --- 1: conservation

    def conservation = [(total_of_cpu if @way.values.include?(:cpu)), *(each_life if @way.values.include?(:wall))]

    def total_of_cpu
      told = lives.select { |life| told?(life[:part]) }
      mains = @outcome.truth.select { |fact| fact[:main] }
      of_main = ->(fact) { fact[:main].last - fact[:main].first }
      low = told.reject { |life| life[:thread].zero? }.sum { |life| life[:cpu] } + mains.select { |fact| told?(fact[:part]) }.sum(&of_main)
      high = lives.select { |life| reached?(life[:part]) }.reject { |life| life[:thread].zero? }.sum { |life| life[:life_cpu] } +
             mains.select { |fact| reached?(fact[:part]) }.sum { |fact| (@way.inner? ? of_main.(fact) : fact[:main].last) + END_NS } +
             @outcome.truth.sum { |fact| fact[:beside] || 0 }
      within("CPU time of all", seen.sum(:cpu), low, high, slack: 2 * seen.period_ns * lives.size)
    end

    # All of a thread's life is below one method, but for the notes that it takes, of which draws decide the time it ran. Of a thread
    # that lived for less than four periods in each of two windows, and that no draw found, others have the time
    # (core/profile/shares.h). Where it waited for a core with the GVL, the stack after that has the wait.
    def each_life
      lives.select { |life| told?(life[:part]) }.map do |life|
        key = life.values_at(:part, :thread)
        chance = [BOUND * Math.sqrt(seen.period_ns * life[:life_cpu]), life[:life_cpu]].min
        low = life[:wall] < 8 * seen.period_ns ? 0 : life[:wall]
        within("wall time of part #{key[0]}, thread #{key[1]}", seen.sum(:wall) { |sample| sample.lives.include?(key) }, low, life[:wall],
               slack: (2 * seen.period_ns) + chance + life[:delay])
      end
    end

    # --- 2: distribution

    def distribution
      value = @way.values.include?(:cpu) ? :cpu : :wall
      told_acts.map do |number, cpu, wall, delay|
        truth = value == :cpu ? cpu : wall
        got = seen.sum(value) { |sample| sample.acts.include?([number]) }
        error = Math.sqrt(seen.period_ns * [cpu, seen.period_ns].max)
        @scores << ((got - truth) / error) if value == :cpu && cpu > 2 * seen.period_ns
        within("#{value} of act #{number} (#{act(number).kind})", got, truth, slack: (BOUND * error) + (2 * seen.period_ns) + (value == :wall ? delay : 0))
      end
    end

    def told_acts = lives.select { |life| told?(life[:part]) }.flat_map { |life| life[:acts].map { |act| [*act, life[:delay]] } }
    def act(number) = (@acts ||= @plan.acts.to_h { |one| [one.number, one] }).fetch(number)

    # An act's label is on its own time and on no other.
    def own_labels
      seen.samples.select(&:act_label).reject { |sample| sample.acts.include?([sample.act_label.to_i]) }.group_by(&:act_label).filter_map do |label, samples|
        time = samples.sum { |sample| [sample.cpu, sample.wall].max }
        "the label of act #{label} is on #{ms(time)} of other methods" if time > 2 * seen.period_ns
      end
    end

    # What the program counts itself is exact.
    def counts
      told = @plan.parts.select { |part| told?(part.number) }
      reached = @plan.parts.select { |part| reached?(part.number) }
      low, high = [told, reached].map { |some| some.flat_map { |part| part.threads.flatten }.select { |one| one.kind == :count }.sum { |one| 3 * one.amount } }
      got = seen.samples.sum(&:things)
      got.between?(low, high) ? [] : ["samples of its own: #{got}, true is #{low} to #{high}"]
    end

    # What is there of it when the next one begins.
    def after_the_session
      fact = @outcome.truth.find { |one| one[:threads_kept] } or return []
      [*("records of #{fact[:threads_kept]} threads are kept that have ended" if fact[:threads_kept].positive?),
       *("labels of it are in the next session: #{fact[:labels_kept]}" if fact[:labels_kept].any?)]
    end

    # --- 4: harmless

    def harmless
      [("it ended #{@outcome.ending}, alone #{@alone.ending}" unless same_ending?),
       *difference("output", @outcome.out.lines.sort, @alone.out.lines.sort),
       *difference("errors", *[@outcome, @alone].map { |one| one.err.lines.grep_v(OURS).map { |line| line.gsub(/\S+\.rb:\d+/, "FILE") }.grep_v(/^\s+(?:from|\d+:)/) })]
    end

    # A shell would say the same of both.
    def same_ending? = [@outcome, @alone].map { |one| one.status.exitstatus || (128 + one.status.termsig) }.uniq.size == 1
    def difference(what, got, wanted) = got == wanted ? [] : ["#{what}: #{(got - wanted).first(3).inspect} instead of #{(wanted - got).first(3).inspect}"]

    # --- 5: nothing left

    def nothing_left
      root = @outcome.truth.find { |fact| fact[:before] && fact[:part] == @plan.root.number } or return []
      left = @outcome.left.grep_v(/\.sock\z/) # of a process that could not remove it: the next one does
      changed = root[:before].keys.reject { |key| root[:before][key] == root[:after][key] }
      [*("files are left: #{left.first(3).inspect}" if left.any?),
       *after_the_session, *(changed.map { |key| "#{key} before and after: #{root[:before][key]}, #{root[:after][key]}" } if @way.inner?)]
    end
  end
end
