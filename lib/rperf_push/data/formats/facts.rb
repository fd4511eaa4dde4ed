# frozen_string_literal: true

module RperfPush
  # What a file says beside its stacks: whether it is of the kind that all readers of the data rely on.
  module Facts
    NUMBERS = %i[
      frequency effective_frequency start_time_ns duration_ns total_duration_ns process_count pid ppid trigger_count sampling_count
      sampling_time_ns detected_thread_count unique_frames unique_stacks user_ns sys_ns maxrss_mb
    ].freeze
    OBJECTS = %i[meta summary gc_stats values raw_values units].freeze
    COLUMNS = { values: :aggregated_samples, raw_values: :raw_samples }.freeze
    BITS = 63 # and a sign
    SQUARES_BITS = 2 * BITS
    SEQ_BITS = 31

    module_function

    # @raise [ArgumentError]
    def check(data)
      data.reject! { |key, part| part.nil? && OBJECTS.include?(key) }
      data.slice(*NUMBERS).each { |key, number| must(key, "a number", number.nil? || number?(number)) }
      data.slice(*OBJECTS).each { |key, object| must(key, "an object", object.is_a?(Hash)) }
      must(:gc_stats, "an object of numbers", data.fetch(:gc_stats, {}).each_value.all?(Numeric))
      check_columns(data)
    end

    def check_columns(data)
      COLUMNS.each { |key, samples| must(key, "lists of a number for each sample", columns?(data, data.fetch(key, {}), data[samples])) }
    end

    # @param sets [Integer] how many label sets there are
    # @return [String, nil]
    def wrong_with(sample, sets)
      return "is not [frames, weight, thread_seq, label_set_id]" unless sample.is_a?(Array) && sample[0].is_a?(Array) && numbers?(sample)

      "has no label set #{sample[3]}" unless (0...sets).cover?(sample[3] || 0)
    end

    def columns?(data, columns, samples)
      columns.all? do |name, column|
        squares = Values.squares?(name) && Values.precision?(data, name)
        column.is_a?(Array) && column.size == samples&.size && column.all? { |one| squares ? squares?(one) : integer?(one) }
      end
    end

    # @return [Boolean] whether what stands behind a sample's frames can be: a weight, and perhaps a thread and a label set
    def numbers?(sample)
      _, weight, seq, set = sample
      integer?(weight) && (seq.nil? || (seq.is_a?(Integer) && seq >= 0 && seq.bit_length <= SEQ_BITS)) && (set.nil? || set.is_a?(Integer))
    end

    def integer?(one) = one.is_a?(Integer) && one.bit_length <= BITS
    def squares?(one) = one.is_a?(Integer) && one.bit_length <= SQUARES_BITS && !one.negative?
    def number?(one) = one.is_a?(Float) ? one.finite? : integer?(one)
    def must(key, kind, is_so) = is_so || raise(ArgumentError, "#{key} must be #{kind}")
    private_class_method :check_columns, :columns?, :numbers?, :integer?, :squares?, :number?, :must
  end
end
