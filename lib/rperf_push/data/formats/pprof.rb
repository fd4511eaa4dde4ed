# frozen_string_literal: true

require_relative "../states"
require_relative "../values"
require_relative "../../version"

module RperfPush
  # pprof files: of every producer to read, through the encoder that serves the backends to write.
  module PProf
    # Numbers that pprof has no field for stand in its comments.
    COUNTS = %i[
      effective_frequency total_duration_ns process_count pid ppid
      sampling_count trigger_count sampling_time_ns detected_thread_count unique_frames unique_stacks
    ].freeze
    GZIP_LEVEL = 1
    C_METHOD = "<C method>"
    PRECISION = "precision" # the unit of what is no value, in windows for our own eyes (core/profile/columns.h)

    module_function

    # @param data [Hash] as {RperfPush.stop} returns it
    # @return [String] gzip-compressed
    def encode(data)
      samples = Values.samples(data)
      names = Values.names(data)
      Native.encode_pprof(
        samples:, columns: names.map { |name| Values.column(data, name) },
        types: names.map { |name| [name.to_s, Values.unit(data, name)] },
        label_sets: Values.label_sets(data).map { |set| labels(set) },
        comments: comments(data), level: GZIP_LEVEL, **times(data)
      )
    end

    # @param raw [String] uncompressed
    # @param memory [Integer, nil] bytes that the result may take; nil: any number
    # @yieldparam frame [Array] each one, once; may be changed
    # @return [Hash, nil] nil: it would take more memory
    def decode(raw, memory: nil, &)
      read = Native.decode_pprof(raw, memory) or return
      speak_as_at_home(read) if read[:comments].any? { |comment| comment.start_with?("rperf-push ") }
      read[:frames].each(&) if block_given?
      weight = weight_index(read)
      weigh(read, weight)
      { **head(read, weight), aggregated_samples: read[:samples], label_sets: read[:label_sets], **values(read, weight), **units(read) }
    end

    # In what we send, C functions have no path and labels the names of servers (the option label_names).
    def speak_as_at_home(read)
      read[:frames].each { |frame| frame[0] = C_METHOD if frame[0].empty? && !frame[1].start_with?("[", "(") }
      read[:label_sets].map! { |set| set.transform_keys { |key| States::SENT_AS.key(key) || key } }
    end

    def times(data)
      { time_ns: Integer(data[:start_time_ns] || 0), duration_ns: Integer(data[:duration_ns] || 0),
        period_ns: data[:frequency].to_i.positive? ? 1_000_000_000 / data[:frequency] : 0 }
    end

    def head(read, weight)
      { mode: mode(read, weight), frequency: frequency(read),
        start_time_ns: read[:time_ns], duration_ns: read[:duration_ns],
        trigger_count: 0, sampling_count: read[:samples].size, sampling_time_ns: 0,
        detected_thread_count: read[:samples].map { |sample| sample[2] }.uniq.size,
        unique_frames: read[:unique_frames], unique_stacks: read[:samples].size,
        **counts(read[:comments]), comments: read[:comments] }
    end

    def mode(read, weight)
      names = read[:types].filter_map { |type, unit| type.to_sym unless unit == PRECISION }
      names.unshift(names.delete_at(weight))
      names.one? || (names - StartOptions::MODES.keys).any? ? names.first : names
    end

    def counts(comments)
      COUNTS.to_h { |key| [key, comments.filter_map { |comment| comment[/\A#{key} (\d+)\z/, 1] }.first&.to_i] }.compact
    end

    # What is measured beside the weight.
    def values(read, weight)
      others = read[:types].each_index.reject { |index| index == weight }
      others.empty? ? {} : { values: others.to_h { |index| [read[:types][index].first.to_sym, read[:columns][index]] } }
    end

    def units(read)
      units = read[:types].reject { |_, unit| unit == PRECISION }.to_h { |type, unit| [type.to_sym, unit] }
      units.values.all?(Values::NANOSECONDS) ? {} : { units: }
    end

    # The default type is the weight; without one, pprof's tools take the last.
    def weight_index(read)
      read[:types].index { |type, _| type == read[:default_type] } || (read[:types].size - 1)
    end

    def weigh(read, index)
      return if index.zero?

      column = read[:columns][index]
      read[:samples].each_with_index { |sample, at| sample[1] = column[at] }
    end

    def frequency(read)
      stated = read[:comments].filter_map { |comment| comment[/\Afrequency (\d+)/, 1] }.first
      return stated.to_i if stated

      read[:period].positive? ? (1_000_000_000.0 / read[:period]).round : 0
    end

    def comments(data)
      ["rperf-push #{VERSION}", "mode #{Array(data[:mode]).join("+")}", "frequency #{data[:frequency]} Hz",
       "Ruby #{RUBY_VERSION}", *COUNTS.filter_map { |key| "#{key} #{data[key]}" if data[key] }]
    end

    # In pprof a text that is empty is none.
    def labels(set) = set.map { |key, value| label(key.to_s, value) }.reject { |_, value| value == "" }

    # Texts, and of other producers numbers, alone or as [number, unit].
    def label(key, value)
      number, unit = value
      number.is_a?(Integer) && number.bit_length < 64 ? [key, number, unit.to_s] : [key, value.to_s]
    end
    private_class_method :speak_as_at_home, :times, :head, :mode, :counts, :values, :units, :weight_index, :weigh, :frequency, :comments,
                         :labels, :label
  end
end
