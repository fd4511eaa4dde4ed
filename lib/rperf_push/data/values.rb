# frozen_string_literal: true

module RperfPush
  # The values of a data Hash's samples: first the weight, then those under :values. Beside these are columns that say how precise the
  # values are; a value that the program counts under such a name has a unit, and is a value.
  module Values
    SAMPLES = :samples
    WEIGHT_SQUARES = :weight_squares
    SQUARES = /_squares\z/
    NANOSECONDS = "nanoseconds"
    # How much there is at the end of a window: windows of a process do not add up.
    LEVELS = Native.value_types.filter_map { |type, _, _, _, level| type.to_sym if level }.freeze
    # mode => its first value
    WEIGHTS = Native.value_types.reverse.to_h { |type, _, _, mode| [mode, type.to_sym] }.freeze

    module_function

    # @return [Array<Symbol>]
    def names(data)
      mode = Array(data[:mode]).first&.to_sym || :wall
      [WEIGHTS.fetch(mode, mode), *(data[:values] || {}).keys.reject { |name| precision?(data, name) }].map(&:to_sym).uniq
    end

    # @return [Array<Symbol>] the columns that are no values: squares last
    def precision(data)
      (data[:values] || {}).keys.select { |name| precision?(data, name) }.map(&:to_sym).partition { |name| !squares?(name) }.flatten
    end

    # @param name [Symbol, nil] one of {names}; nil means the weight
    # @return [Array<Integer>, nil] for each row the sum of the squared weights in it; nil: it is not known
    def squares(data, name = nil) = precision_column(data, squares_name(data, name))

    # @return [Array<Integer>, nil] for each sample one of {precision}
    def precision_column(data, name) = (data[:values].find { |key, _| key.to_sym == name }.last if precision(data).include?(name))

    # @return [Symbol] what the squares of a value are called
    def squares_name(data, name) = name.nil? || name.to_sym == names(data).first ? WEIGHT_SQUARES : :"#{name}_squares"

    # @return [Symbol] the value that a column of {precision} is about
    def value_of(column, weight)
      [SAMPLES, WEIGHT_SQUARES].include?(column) ? weight : column.to_s.sub(SQUARES, "").to_sym
    end

    def squares?(name) = name.match?(SQUARES)

    def precision?(data, name)
      (name.to_sym == SAMPLES || squares?(name)) && (data[:units] || {}).keys.none? { |known| known.to_sym == name.to_sym }
    end

    # @return [Array<Integer>, nil] nil means the weights of the samples
    # @raise [ArgumentError] if there is no such value
    def column(data, name)
      known = names(data)
      return if name.nil? || name.to_sym == known.first
      return data[:values].find { |key, _| key.to_sym == name.to_sym }.last if known.include?(name.to_sym)

      raise ArgumentError, "no value #{name}; there are #{known.join(", ")}"
    end

    def unit(data, name)
      units = data[:units] || {}
      units[name.to_sym] || units[name.to_s] || NANOSECONDS
    end

    def nanoseconds?(data, name) = unit(data, name) == NANOSECONDS

    # @return [Boolean] whether data has no sample
    def nothing?(data) = data.is_a?(Hash) && (data[:aggregated_samples] || data[:raw_samples] || []).empty?

    # @return [Array] the samples of any data Hash
    def samples(data)
      raise ArgumentError, "data must be a Hash as RperfPush.stop returns it, got #{data.class}" unless data.is_a?(Hash)

      samples = data[:aggregated_samples] || data[:raw_samples]
      raise ArgumentError, "data has no :aggregated_samples" unless samples.is_a?(Array)

      samples
    end

    # @return [Array] the samples that have something of a value, with it as their weight
    # @raise [ArgumentError] if there is no such value
    def weighed(data, name)
      column = column(data, name)
      weighed = samples(data).each_with_index.map { |sample, at| column ? [sample[0], column[at], *sample.drop(2)] : sample }
      weighed.reject { |sample| sample[1].zero? }
    end

    def label_sets(data)
      sets = data[:label_sets]
      sets.nil? || sets.empty? ? [{}] : sets
    end

    # @yieldparam set [Hash] each label set, once
    # @return [Hash{Object => Integer}] for each result of the block, the sum of the samples with such labels
    def sums(data, name = nil, &)
      answers = label_sets(data).map(&)
      column = column(data, name)
      samples(data).each_with_index.with_object(Hash.new(0)) do |(sample, at), sums|
        sums[answers[sample[3] || 0]] += column ? column[at] : sample[1]
      end
    end

    def in_gc?(set) = set.any? { |key, _| key.to_s == "%GC" }
  end
end
