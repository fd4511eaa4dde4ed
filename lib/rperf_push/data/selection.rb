# frozen_string_literal: true

require_relative ".."
require_relative "values"

module RperfPush
  # Some of a data Hash's values, as if only they had been measured.
  class Selection
    # mode => what it measures
    OF_MODE = Native.modes.transform_values do |bits|
      Native.value_types.each_index.select { |value| bits[value] == 1 }.map { |value| Native.value_types[value].first.to_sym }
    end.freeze
    COLUMNS = { aggregated_samples: :values, raw_samples: :raw_values }.freeze

    # @param modes [Array<Symbol>] what is kept, and what the program counts itself
    def initialize(data, modes)
      @data = data
      @modes = OF_MODE.keys & modes
      known, wanted = [OF_MODE.values, OF_MODE.values_at(*modes)].map(&:flatten)
      @names = Values.names(data) - (known - wanted)
    end

    # @return [Hash] without samples that have nothing of it
    def data
      parts = COLUMNS.slice(*@data.keys).map { |samples, columns| part(samples, columns) }
      @data.except(*COLUMNS.values, :units).merge({ mode: }, units, *parts)
    end

    private

    # What the weight is called, as {Values.names} reads it: of what the program counts itself, the first name.
    def mode
      return @modes unless @modes.one?

      (@names.first if @modes == [:custom]) || @modes.first
    end

    def units = @data[:units] ? { units: @data[:units].slice(*@names) } : {}

    def part(samples, columns)
      rows = rows(@data[samples], @data[columns])
      numbers = rows.map(&:last).transpose
      others = (@names + precision.keys).drop(1).zip(numbers.drop(1)).to_h { |name, column| [name, column || []] }
      { samples => rows.map { |(frames, _, *rest), (weight)| [frames, weight, *rest] }, **(others.any? ? { columns => others } : {}) }
    end

    # @return [Array(Array, Array<Integer>)] samples, and of each its numbers
    def rows(samples, columns)
      weight = Values.names(@data).first
      all = @names.map { |name| name == weight ? samples.map { |sample| sample[1] } : columns[name] }
      all += columns.to_h.values_at(*precision.values)
      samples.zip(all.transpose).reject { |_, numbers| numbers.nil? || numbers.first(@names.size).all?(0) }
    end

    # What is the weight now has squares of another name.
    #
    # @return [Hash{Symbol => Symbol}] columns beside the values, by their new names
    def precision
      @precision ||= begin
        old = @names.to_h { |name| [name == @names.first ? Values::WEIGHT_SQUARES : :"#{name}_squares", Values.squares_name(@data, name)] }
        { Values::SAMPLES => Values::SAMPLES, **old }.select { |_, name| Values.precision(@data).include?(name) }
      end
    end
  end
end
