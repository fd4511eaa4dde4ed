# frozen_string_literal: true

require_relative "../seen"

module Properties
  # The truth of a take: which lives of threads it has to have, and what part of them. Amounts of time are ranges: the low end is of what has
  # to be in the take, the high end of what may be.
  class Lives
    SILENT = %i[exit! signal].freeze # such a process tells nobody that it ends: what it has not delivered yet is lost
    SOON_NS = 150_000_000
    WAITS = %i[sleep pop condition read].freeze
    LONG_NS = 1_000_000_000

    attr_reader :take, :seen

    def initialize(plan, way, outcome, take)
      @plan = plan
      @way = way
      @outcome = outcome
      @take = take
      @seen = Seen.new(take.datas)
    end

    # @return [Array<Hash>] a fact for each thread
    def all = @all ||= facts.select { |fact| fact[:thread] }
    def facts = @outcome.truth
    def parts = @parts ||= @plan.parts.to_h { |part| [part.number, part] }
    def task(number) = (@tasks ||= @plan.tasks.to_h { |one| [one.number, one] }).fetch(number)
    def modes = take.modes

    # @return [Boolean] whether the take is of a whole program
    def whole? = take.span.nil?
    # @return [Boolean] whether a session of the program itself is what was taken
    def inner? = take.source == @way.inner

    # @return [Boolean] whether somebody outside took it
    def outside? = take.source == @way.outside

    # @return [Array<Array(Integer, Integer)>, nil] when the program began and ended the session, as it says: before and after each call,
    #   with the CPU time of the process until then
    def moments = (inner? && take.span && facts.filter_map { |fact| fact[:moments] }.find { |at| take.span.last.between?(at[0].first, at[3].first) }) || nil

    def reached?(number) = take.reach == :all || number == @plan.root.number

    # @return [Boolean] whether all of a process, as far as it was within the span, has to be in the take
    def told?(number)
      return false unless reached?(number)
      return true if inner? && number == @plan.root.number

      SILENT.none?(parts[number].ending) && !execs_at_once?(number) && !(lossy? && !inner?)
    end

    def told = all.select { |life| told?(life[:part]) }
    def reached = all.select { |life| reached?(life[:part]) }

    # @return [Array(Numeric, Numeric)] how much of something that took `cpu` or `wall` was within the span
    def wall_within(from, wall)
      return [wall, wall] if whole?

      inside = overlap(from, wall)
      [idle_at_end? ? 0 : inside, inside]
    end

    # What ran while the span was over, ran no longer than that.
    def cpu_within(from, cpu, wall)
      return [cpu, cpu] if whole?

      inside = overlap(from, wall)
      [[cpu - (wall - inside), 0].max, [cpu, inside].min]
    end

    private

    # While no Ruby code runs nobody can say how long threads wait: so somebody outside does not get waits that then go on (docs/control.md).
    def idle_at_end?
      return @idle unless @idle.nil?

      till = take.span.last
      living = all.select { |life| life[:part] == @plan.root.number && till.between?(life[:from], life[:from] + life[:wall]) }
      @idle = !inner? && living.all? { |life| life[:tasks].any? { |number, from, _cpu, wall| WAITS.include?(task(number).kind) && till.between?(from + LONG_NS, from + wall) } }
    end

    def overlap(from, wall) = [[from + wall, take.span.last].min - [from, take.span.first].max, 0].max

    # A server that does not take everything has the rest lost.
    def lossy? = @way.faults.equal?(LASTING)

    # A forked child that becomes another program at once sends nothing (docs/delivery.md).
    def execs_at_once?(number)
      @way.continuous? && parts[number].ending == :exec && all.select { |life| life[:part] == number }.all? { |life| life[:wall] < SOON_NS }
    end
  end
end
