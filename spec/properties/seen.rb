# frozen_string_literal: true

require "rperf_push"

module Properties
  # What profiles say, by methods of the program. Times are in nanoseconds.
  class Seen
    VALUES = %i[cpu wall alloc_objects contentions things calls].freeze
    # `tasks` and `lives` are numbers of those on the stack; `task_label` is the label's, `state` is %GVL's, and `leaf` is the name on top.
    Sample = Struct.new(*VALUES, :thread, :tasks, :lives, :task_label, :state, :leaf)

    # @return [Array<Sample>]
    attr_reader :samples
    # @return [Float] nanoseconds between two samples, at best
    attr_reader :period_ns
    # @return [Integer] nanoseconds from the first begin to the last end
    attr_reader :duration_ns

    # @param datas [Array<Hash>] of a take
    def initialize(datas)
      @samples = datas.flat_map { |data| read(data) }
      @duration_ns = datas.empty? ? 0 : datas.map { |data| data[:start_time_ns] + data[:duration_ns] }.max - datas.map { |data| data[:start_time_ns] }.min
      @period_ns = 1e9 / [datas.filter_map { |data| data[:effective_frequency] || data[:frequency] }.reject(&:zero?).min || 99, 99].min
    end

    # @param value [Symbol] of VALUES
    # @yieldparam sample [Sample]
    def sum(value) = samples.sum { |sample| !block_given? || yield(sample) ? sample[value] : 0 }

    private

    def read(data)
      columns = VALUES.map { |name| column(data, name) }
      RperfPush::Values.samples(data).each_with_index.map do |(frames, _weight, thread, set), at|
        names = frames.map { |frame| frame[1] }
        labels = RperfPush::Values.label_sets(data)[set || 0].transform_keys(&:to_sym)
        Sample.new(*columns.map { |column| column ? column[at] : 0 }, thread, numbers(names, /\btask_(\d+)(?:\z|_of_)/), numbers(names, /(?:\b|_)part_(\d+)_thread_(\d+)\z/),
                   labels[:task], labels[:"%GVL"] || labels[:gvl_state], names.first)
      end
    end

    # The first value is the weight, and the program's own may have a prefix.
    def column(data, name)
      known = RperfPush::Values.names(data)
      name = known.find { |one| one.to_s.include?("things") } if name == :things
      return unless known.include?(name)

      RperfPush::Values.column(data, name) || RperfPush::Values.samples(data).map { |sample| sample[1] }
    end

    def numbers(names, pattern) = names.filter_map { |name| name.match(pattern)&.captures&.map(&:to_i) }
  end
end
