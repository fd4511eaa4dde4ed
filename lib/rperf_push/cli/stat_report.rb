# frozen_string_literal: true

module RperfPush
  module CLI
    # The lines of `stat`: what the samples say, then Ruby's and the system's counters of all processes.
    class StatReport
      STATES = { nil => "CPU execution", off_core: "waiting for a core, or blocked with the GVL",
                 **States::ALL.to_h { |state| [state, state.title] } }.freeze
      ALWAYS = [nil].freeze # rows that are there also when they are nothing
      CLASSES = 5
      UNKNOWN = "[unknown]" # the leaf of objects of which nothing was sampled
      LEAST_SHARE = 1 # percent of the objects, of a class
      NOTHING_NS = 50_000 # what would read 0.0 ms

      # @param result [Recording::Result]
      # @param modes [Array<Symbol>] that were asked for
      # @param class_labels [Boolean] whether the class of an object is a label of its stack, not the leaf
      def initialize(result, command, modes, class_labels: false)
        @result = result
        @command = command
        @modes = modes
        @class_labels = class_labels
        @ends = result.ends
      end

      # @return [String]
      def text
        lines = ["Performance stats for '#{@command}':", "", *times, ""]
        lines += @result.data ? [*states, *ruby, *system, "", *overhead] : ["no Ruby program ran: nothing was sampled"]
        lines.map { |line| line.empty? ? "\n" : " #{line}\n" }.join
      end

      private

      def times
        [row(ms(@result.user_ns), "ms", "user"), row(ms(@result.sys_ns), "ms", "sys"), row(ms(@result.real_ns), "ms", "real")]
      end

      # Nothing where neither CPU nor wall time was asked for.
      def states
        return [] unless @modes.intersect?(%i[cpu wall])

        sums = sums_by_state
        all = sums.values.sum
        shown = STATES.reject { |state, _| sums[state] < NOTHING_NS && !ALWAYS.include?(state) }
        shown.map do |state, name|
          row(ms(sums[state]), "ms", format("%5.1f%%  [RperfPush] %s", percent(sums[state], all), name))
        end
      end

      # Wall time of a thread that has the GVL is CPU time, or it had no core.
      def sums_by_state
        measured = @modes.include?(:cpu) ? :cpu : :wall
        sums = Values.sums(@result.data, measured) { |set| States.of(set) }
        return sums if measured == :cpu

        cpu = Values.sums(@result.data, :cpu) { |set| States.of(set) }[nil]
        sums[:off_core] = [sums[nil] - cpu, 0].max
        sums[nil] -= sums[:off_core]
        sums
      end

      def ruby
        gc = @result.data[:gc_stats] || Hash.new(0)
        [gc_time(gc), counter("Ruby", number(gc[:allocated_objects]), "allocated objects"), *classes(:alloc_objects),
         counter("Ruby", number(gc[:freed_objects]), "freed objects"), *live_heap,
         counter("Ruby", number(@result.data[:detected_thread_count]), "detected threads"), *yjit, *processes]
      end

      # Of the objects that the program created; nothing where it was not asked for.
      def live_heap
        return [] unless Values.names(@result.data).include?(:inuse_objects)

        objects, bytes = %i[inuse_objects inuse_space].map { |value| Values.sums(@result.data, value) { nil }[nil] }
        [counter("Ruby", number(objects), "objects alive at the last GC (#{number(bytes / 1024)} KB)"), *classes(:inuse_objects)]
      end

      # The classes with the most objects, by samples.
      def classes(value)
        sums = by_class(value)
        all = sums.values.sum
        rows = sums.except(UNKNOWN).select { |_, sum| percent(sum, all) >= LEAST_SHARE }.sort_by { |name, sum| [-sum, name] }
        rows.first(CLASSES).map { |name, sum| counter("Ruby", number(sum), format("%5.1f%%  %s", percent(sum, all), name)) }
      end

      def by_class(value)
        return Values.sums(@result.data, value) { |set| set[:class] || UNKNOWN } if @class_labels

        Values.weighed(@result.data, value).each_with_object(Hash.new(0)) { |(frames, objects), sums| sums[frames.first[1]] += objects }
      end

      def gc_time(gc)
        count, minor, major = gc.values_at(:count, :minor_count, :major_count).map { |amount| number(amount) }
        counter("Ruby", ms(gc[:time_ms] * 1_000_000), "GC time (#{count} count: #{minor} minor, #{major} major)", "ms")
      end

      # Ruby counts instructions only when asked to; since 4.0 also only if it was built for that.
      def yjit
        compiling = @ends.select { |one| one[:yjit] }
        return [] if compiling.empty?

        ratios = compiling.filter_map { |one| one[:yjit_ratio] }
        build = " of a build with --enable-yjit=stats" if compiling.all? { |one| one[:ruby_version].to_i >= 4 }
        return [counter("Ruby", "on", "YJIT; its ratio needs ruby --yjit-stats=quiet#{build}")] if ratios.empty?

        [counter("Ruby", format("%.1f%%", ratios.sum / ratios.size), "in code of YJIT")]
      end

      def processes
        count = @result.process_count
        count > 1 ? [counter("RperfPush", number(count), "Ruby processes profiled")] : []
      end

      def system
        peak_mb = @ends.map { |one| one[:maxrss_mb] }.max || 0
        [counter("OS", number(peak_mb), "peak memory (maxrss)", "MB"),
         pair("page faults", { "minor" => total(:minor_faults), "major" => total(:major_faults) }),
         pair("context switches", { "voluntary" => total(:voluntary_switches), "involuntary" => total(:involuntary_switches) }),
         pair("disk I/O", { "MB read" => megabytes(:read_bytes), "MB write" => megabytes(:write_bytes) }, "MB")]
      end

      # A sum, and what it is of.
      def pair(text, amounts, unit = "")
        parts = amounts.map { |name, amount| "#{number(amount)} #{name}" }
        counter("OS", number(amounts.values.sum), "#{text} (#{parts.join(", ")})", unit)
      end

      def overhead = [sampled, *unfinished]

      def sampled
        data = @result.data
        cpu = total(:user_ns) + total(:sys_ns)
        share = percent(data[:sampling_time_ns].to_i, cpu)
        triggers = " / #{number(data[:trigger_count])} triggers" if data[:trigger_count].to_i.positive?
        format(" %<samples>s samples%<triggers>s, %<share>.1f%% profiler overhead",
               samples: number(data[:sampling_count]), triggers:, share:)
      end

      def unfinished
        count = @result.process_count - @ends.uniq { |one| one[:pid] }.size
        count.positive? ? [" #{count} of the processes did not reach their end: their last window and counters are missing"] : []
      end

      def percent(part, whole) = whole.zero? ? 0 : part * 100.0 / whole
      def total(key) = @ends.sum { |one| one[key].to_i }
      def megabytes(key) = total(key) / 1024 / 1024
      def ms(nanoseconds) = number(format("%.1f", nanoseconds / 1e6))
      def number(value) = value.to_s.sub(/\A\d+/) { |digits| digits.gsub(/(\d)(?=(\d{3})+\z)/, '\1,') }
      def counter(source, amount, text, unit = "") = row(amount, unit, format("%8s[%-9s] %s", "", source, text))
      def row(amount, unit, text) = format("%14s %-2s %s", amount, unit, Printable.line(text))
    end
  end
end
