# frozen_string_literal: true

require "rperf_push"

module Properties
  # What profiles say, by methods of the program. Times are in nanoseconds.
  class Seen
    Sample = Struct.new(:cpu, :wall, :acts, :lives, :act_label, :things)

    # @return [Array<Sample>]
    attr_reader :samples
    # @return [Float] nanoseconds between two samples, at best
    attr_reader :period_ns

    # @param datas [Array<Hash>] of a run, which together have everything once
    def initialize(datas)
      @samples = datas.flat_map { |data| read(data) }
      @period_ns = 1e9 / [datas.filter_map { |data| data[:effective_frequency] || data[:frequency] }.min || 99, 99].min
    end

    # @param value [Symbol] :cpu or :wall
    # @yieldparam sample [Sample]
    def sum(value) = samples.sum { |sample| !block_given? || yield(sample) ? sample[value] : 0 }

    private

    def read(data)
      columns = %i[cpu wall].to_h { |name| [name, column(data, name)] }
      things = RperfPush::Values.names(data).find { |name| name.to_s.include?("things") }.then { |name| name && column(data, name) }
      RperfPush::Values.samples(data).each_with_index.map do |(frames, _weight, _thread, set), at|
        names = frames.map { |frame| frame[1] }
        Sample.new(cpu: columns[:cpu]&.at(at) || 0, wall: columns[:wall]&.at(at) || 0, acts: numbers(names, /\bact_(\d+)(?:\z|_of_)/),
                   lives: numbers(names, /(?:\b|_)part_(\d+)_thread_(\d+)\z/), act_label: label(data, set), things: things&.at(at) || 0)
      end
    end

    def column(data, name)
      return unless RperfPush::Values.names(data).include?(name)

      RperfPush::Values.column(data, name) || RperfPush::Values.samples(data).map { |sample| sample[1] }
    end

    def numbers(names, pattern) = names.filter_map { |name| name.match(pattern)&.captures&.map(&:to_i) }
    def label(data, set) = (data[:label_sets] || [])[set || 0].then { |labels| labels && (labels[:act] || labels["act"]) }
  end
end
