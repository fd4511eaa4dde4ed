# frozen_string_literal: true

require_relative "values"

module RperfPush
  # Merges profiles: sums equal stacks with equal labels, unites equal label sets, and keeps threads separate. Of a level, the latest part
  # of each process counts.
  class Merge
    SUMS = %i[trigger_count sampling_count sampling_time_ns user_ns sys_ns].freeze

    def initialize
      @parts = []
      @label_sets = { {} => 0 }
      @threads = {}
    end

    # @param process [Object] the process of the threads: the same number means another thread in another process
    # @param labels [Hash{Symbol => String}] labels for all samples of the part
    def add(data, process: Object.new, labels: {})
      samples = Values.samples(data)
      sets = Values.label_sets(data).map { |set| id_of(set.transform_keys(&:to_sym).merge(labels)) }
      seqs = []
      samples.each { |sample| seqs[sample[2] || 0] ||= thread_of(process, sample[2] || 0) }
      @parts << [data, samples, sets, seqs, process]
      self
    end

    # @param raw [Boolean] with the samples as they came, under :raw_samples
    # @return [Hash] as {RperfPush.stop} returns it
    # @raise [ArgumentError] when there is nothing, or what is measured differs
    def data(raw: false)
      names = common_names
      precision = common_precision(names)
      samples, columns, unique_stacks = sums_of(names, precision)
      head.merge(aggregated_samples: samples, label_sets: @label_sets.keys, unique_stacks:, **others(names + precision, columns))
          .merge(raw ? raw(names.drop(1), precision) : {})
    end

    private

    def id_of(set) = @label_sets[set] ||= @label_sets.size

    # 0 means no particular thread.
    def thread_of(process, seq) = seq.zero? ? 0 : (@threads[[process, seq]] ||= @threads.size + 1)

    # @return [Array<Symbol>] the weight, which all parts have, then every value that some part has
    def common_names
      raise ArgumentError, "nothing to sum" if @parts.empty?

      lists = @parts.map { |data,| Values.names(data) }
      weights = lists.map(&:first).uniq
      raise ArgumentError, "they measure different things: #{weights.join(", ")}" if weights.size > 1

      lists.flatten.uniq
    end

    # Without the squares of one part, the sum of the others' would pass for all: then there is none.
    #
    # @return [Array<Symbol>] squares last
    def common_precision(names)
      parts = @parts.filter_map { |data, samples,| data if samples.any? }
      all = parts.flat_map { |data| Values.precision(data) }.uniq - names
      (([Values::SAMPLES] & all) | all).select { |name| known_in_all?(parts, name, Values.value_of(name, names.first)) }
    end

    def known_in_all?(parts, name, value)
      parts.all? { |data| !Values.names(data).include?(value) || Values.precision(data).include?(name) }
    end

    def sums_of(names, precision)
      latest = (names & Values::LEVELS).to_h { |level| [level, latest_of(level)] }
      inputs = @parts.map { |part| input(part, names, latest, precision) }
      Native.sum_samples(inputs, names.size + precision.size, precision.count { |name| Values.squares?(name) })
    end

    def input(part, names, latest, precision)
      data, samples, sets, seqs = part
      known = Values.names(data)
      columns = names.map do |name|
        next false unless known.include?(name)

        latest.key?(name) && !latest[name].include?(part) ? Array.new(samples.size, 0) : Values.column(data, name)
      end
      [samples, columns + precision.map { |name| Values.precision_column(data, name) || false }, sets, seqs]
    end

    # A part of a window without a level lacks the value. One of nothing has it, and replaces the level before.
    def latest_of(level)
      having = @parts.select { |data,| Values.names(data).include?(level) }
      latest = having.group_by(&:last).each_value.map { |parts| parts.max_by.with_index { |part, at| [part[0][:start_time_ns].to_i, at] } }
      Set.new.compare_by_identity.merge(latest)
    end

    def others(names, columns)
      units = @parts.map { |data,| data[:units] }.compact.reduce({}, :merge)
      { **(names.size > 1 ? { values: names.drop(1).zip(columns.drop(1)).to_h } : {}), **(units.any? ? { units: } : {}) }
    end

    def raw(names, precision)
      samples = @parts.flat_map do |_, samples, sets, seqs|
        samples.map { |frames, weight, seq, set| [frames, weight, seqs[seq || 0], sets[set || 0]] }
      end
      columns = (names + precision).to_h { |name| [name, @parts.flat_map { |data, samples,| raw_column(data, samples, name) }] }
      { raw_samples: samples, **(columns.any? ? { raw_values: columns } : {}) }
    end

    def raw_column(data, samples, name)
      return Values.column(data, name) if Values.names(data).include?(name)

      Values.precision_column(data, name) || Array.new(samples.size, 0)
    end

    def head
      all = @parts.map(&:first)
      { mode: mode(all), **frequencies(all), **period(all), **processes, **sums(all),
        detected_thread_count: @threads.size, unique_frames: all.map { |data| data[:unique_frames].to_i }.max, **gathered(all) }
    end

    # The first part is of the process that began.
    def processes
      each = @parts.group_by(&:last).values.map { |parts| parts.map(&:first) }
      { process_count: each.sum { |windows| windows.map { |data| data[:process_count] || 1 }.max },
        total_duration_ns: each.sum { |windows| duration_of(windows) }, **@parts.first.first.slice(:pid, :ppid) }
    end

    # Of one process, or of a part that is several.
    def duration_of(windows) = (windows.one? && windows.first[:total_duration_ns]) || period(windows)[:duration_ns]

    # Of what some processes reached, the least.
    def frequencies(all)
      effective = all.filter_map { |data| data[:effective_frequency] }.min
      { frequency: all.filter_map { |data| data[:frequency] }.max || 0, **(effective ? { effective_frequency: effective } : {}) }
    end

    def mode(all)
      modes = all.flat_map { |data| Array(data[:mode]) }.uniq
      modes.size > 1 ? modes : modes.first
    end

    # The time from the first start to the last end; if a start is unknown, the sum of the parts' durations.
    def period(all)
      starts = all.map { |data| data[:start_time_ns].to_i }
      durations = all.map { |data| data[:duration_ns].to_i }
      start = starts.min
      { start_time_ns: start, duration_ns: start.zero? ? durations.sum : starts.zip(durations).map(&:sum).max - start }
    end

    # Leaves out a counter that no part has.
    def sums(all)
      known = SUMS.to_h { |key| [key, all.filter_map { |data| data[key] }] }
      known.reject { |_, numbers| numbers.empty? }.transform_values(&:sum)
    end

    def gathered(all)
      gc = all.filter_map { |data| data[:gc_stats] }
      rss = all.filter_map { |data| data[:maxrss_mb] }
      metas = all.filter_map { |data| data[:meta] }
      { **(gc.any? ? { gc_stats: gc.reduce { |sum, one| sum.merge(one) { |_, a, b| a + b } } } : {}),
        **(rss.any? ? { maxrss_mb: rss.max } : {}), **(metas.size == 1 ? { meta: metas.first } : {}) }
    end
  end
end
