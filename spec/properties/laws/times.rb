# frozen_string_literal: true

module Properties
  class Laws
    # Conservation and distribution of time, and whose label it has.
    class Times
      EXACT = 0.01 # of a sum of clocks, and two periods a thread
      END_NS = 30_000_000 # what a process may burn after its last look at its clock
      BURST = 4 # periods: engine signal samples in bursts of as many (tick_thinning.h), and ticks of engine safepoint may come late
      STRAY = BURST + 1 # periods that may stand on the other side of a label's block
      REST = 10 # periods that small windows keep for later ones (core/profile/shares.h): there are none if the process ends before
      OWN_NS = 20_000_000 # CPU time of threads that are not Ruby's, of a session in the middle

      # @return [Hash{Symbol => Array<Float>}] as of {Laws#scores}
      attr_reader :scores

      def initialize(lives)
        @lives = lives
        @scores = { cpu: [], wall: [] }
      end

      # @return [Array<String>]
      def breaches
        return [] if (values & %i[cpu wall]).empty?

        [(total_of_cpu if values.include?(:cpu)), *(each_life + each_thread if values.include?(:wall)), *distribution, *labels_elsewhere, *labels_missing, *moments].compact
      end

      private

      def seen = @lives.seen
      def values = @lives.modes
      def period = seen.period_ns

      def within(what, got, low, high = low, slack: 0.0)
        return if got.between?((low * (1 - EXACT)) - slack, (high * (1 + EXACT)) + slack)

        "#{what}: #{ms(got)}, true is #{low == high ? ms(low) : "#{ms(low)} to #{ms(high)}"} ± #{ms(slack)}"
      end

      def ms(nanoseconds) = format("%.1f ms", nanoseconds / 1e6)

      # --- conservation

      def total_of_cpu
        low, high = @lives.whole? ? cpu_of_whole : cpu_of_span
        within("CPU time of all", seen.sum(:cpu), low, high, slack: period * ((2 * @lives.all.size) + (@lives.outside? ? REST : 0)))
      end

      def cpu_of_whole
        beside = ->(lives) { lives.reject { |life| life[:thread].zero? } }
        mains = @lives.facts.select { |fact| fact[:main] }
        of_main = ->(fact) { fact[:main].last - fact[:main].first }
        low = beside[@lives.told].sum { |life| life[:cpu] } + mains.select { |fact| @lives.told?(fact[:part]) }.sum(&of_main)
        high = beside[@lives.reached].sum { |life| life[:life_cpu] } + @lives.facts.sum { |fact| fact[:beside] || 0 } +
               mains.select { |fact| @lives.reached?(fact[:part]) }.sum { |fact| (@lives.inner? ? of_main.(fact) : fact[:main].last) + END_NS }
        [low, high]
      end

      # The process's clock knows better than its tasks, if somebody looked.
      def cpu_of_span
        moments = @lives.moments
        return moments.map(&:last).then { |a, b, c, d| [c - b - OWN_NS, d - a] } if moments

        before_and_after = @lives.facts.sum { |fact| fact[:rest] ? fact[:main].first + fact[:rest] : fact[:beside] || 0 }
        [@lives.told.sum { |life| tasks_of(life).sum { |_, cpu, *| cpu.first } },
         @lives.reached.sum { |life| tasks_of(life).sum { |_, cpu, *| cpu.last } } + before_and_after + END_NS]
      end

      # All of a thread's life is below one method, but for the notes that it takes, of which samples decide the time it ran. Of a thread
      # that lived for less than four periods in each of two windows, and that no sample found, others have the time
      # (core/profile/shares.h). Where it waited for a core with the GVL, the stack after that has the wait.
      def each_life
        @lives.told.map do |life|
          key = life.values_at(:part, :thread)
          chance = [BOUND * Math.sqrt(period * life[:life_cpu]), life[:life_cpu]].min
          low, high = @lives.wall_within(life[:from], life[:wall])
          low = 0 if low < 8 * period
          within("wall time of part #{key[0]}, thread #{key[1]}", seen.sum(:wall) { |sample| sample.lives.include?(key) }, low, high,
                 slack: (2 * period) + chance + life[:delay])
        end
      end

      # No thread has more time than the session lasted. Numbers of threads are those of one process.
      def each_thread
        return [] unless @lives.take.reach == :root

        seen.samples.group_by(&:thread).map do |thread, samples|
          within("wall time of the thread with number #{thread}", samples.sum(&:wall), 0, seen.duration_ns, slack: 2 * period)
        end
      end

      # A session's span is from its start to its stop.
      def moments
        return [] if @lives.whole? || !@lives.inner?

        at = @lives.moments&.map(&:first) or return ["its span is that of no session that the program had"]
        from, till = @lives.take.span
        [*("it began #{ms(from - at[0])} after it was asked to, and #{ms(at[1] - from)} before the answer" unless from.between?(at[0], at[1])),
         *("it ended #{ms(till - at[2])} after it was asked to, and #{ms(at[3] - till)} before the answer" unless till.between?(at[2], at[3]))]
      end

      # --- distribution

      def distribution
        value = values.include?(:cpu) ? :cpu : :wall
        @lives.told.flat_map do |life|
          tasks_of(life).map do |number, cpu, wall|
            score(life, number, cpu, wall)
            low, high = value == :cpu ? cpu : wall
            within("#{value} of task #{number} (#{@lives.task(number).kind})", of_task(value, number), low, high,
                   slack: (BOUND * error(cpu.last)) + (BURST * period) + (value == :wall ? life[:delay] : 0))
          end
        end
      end

      def of_task(value, number) = seen.sum(value) { |sample| sample.tasks.include?([number]) }
      def error(cpu) = Math.sqrt(period * [cpu, period].max)

      # @return [Array<Array(Integer, Array(Numeric, Numeric), Array(Numeric, Numeric))>] number, CPU time and wall time of each task
      def tasks_of(life)
        life[:tasks].map { |number, from, cpu, wall| [number, @lives.cpu_within(from, cpu, wall), @lives.wall_within(from, wall)] }
      end

      # Only of what is wholly in the span, or one end of it would tell us of clocks.
      def score(life, number, cpu, wall)
        return if cpu.uniq.size > 1 || cpu.last <= 2 * period

        @scores[:cpu] << ((of_task(:cpu, number) - cpu.last) / error(cpu.last)) if values.include?(:cpu)
        return unless values.include?(:wall) && life[:delay] < period && alone?(life)

        @scores[:wall] << ((of_task(:wall, number) - wall.last) / error(cpu.last))
      end

      # @return [Boolean] whether it has the GVL for itself
      def alone?(life) = @lives.parts[life[:part]].threads.one?

      # --- labels

      # Between the label's block and the task's method a thread may wait for a core, and one burst may fall there.
      def labels_elsewhere
        seen.samples.select(&:task_label).reject { |sample| sample.tasks.include?([sample.task_label.to_i]) }.group_by(&:task_label).filter_map do |label, samples|
          delay = @lives.all.filter_map { |life| life[:delay] if life[:tasks].any? { |number, *| number == label.to_i } }.first.to_i
          cpu, wall = samples.sum(&:cpu), samples.sum(&:wall)
          "the label of task #{label} is on #{ms([cpu, wall].max)} of other methods" if [cpu, wall - delay].max > STRAY * period
        end
      end

      # A label can be set while something profiles. Some instructions of the task's method are outside of its block, and sessions of
      # others may begin there.
      def labels_missing
        return [] unless @lives.whole?

        @lives.told.flat_map { |life| life[:tasks] }.filter_map do |number, *|
          next unless @lives.task(number).labelled

          time = seen.sum(:cpu) { |sample| sample.tasks.include?([number]) && sample.task_label.nil? }
          "#{ms(time)} of task #{number} are without its label" if time > STRAY * period
        end
      end
    end
  end
end
