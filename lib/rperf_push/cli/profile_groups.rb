# frozen_string_literal: true

require_relative "../../rperf_push"
require_relative "wire"

module RperfPush
  module CLI
    # The values of a pprof by the groups in which servers keep them (core/base/value_types.h): each group is a profile of its own, with
    # a period of its own.
    class ProfileGroups
      TIME = "process_cpu"
      CUSTOM = "custom"
      TYPES = Native.value_types.to_h { |type, unit, group| [[type, unit], group] }.freeze
      PERIODS = Native.value_groups.freeze

      # Numbers of profile.proto's fields.
      SAMPLE_TYPE = 1
      SAMPLE = 2
      SAMPLE_VALUE = 2
      STRING = 6
      PERIOD_TYPE = 11
      PERIOD = 12
      COMMENT = 13
      DEFAULT_TYPE = 14

      # Uncompressed.
      Part = Struct.new(:group, :raw, :samples)

      # @param raw [String] an uncompressed pprof
      # @raise [Wire::Broken]
      def initialize(raw)
        @raw = raw
        @strings = []
        @types = []
        comments = []
        Wire.each_field(raw) do |field, value, *|
          case field
          when STRING then @strings << value
          when SAMPLE_TYPE then @types << type_in(value)
          when PERIOD_TYPE then @period = type_in(value)
          when COMMENT then comments.concat(Wire.numbers(value))
          when DEFAULT_TYPE then @default = value
          end
        end
        check([*@types, *@period, *comments])
        @is_own = comments.any? { |index| @strings[index].to_s.start_with?("rperf-push ") }
      end

      # @return [Array<String>] in the order of their first values
      def names = groups.keys

      # @return [Array<Part>] without groups that have no sample; a file of one group as it is
      # @raise [Wire::Broken]
      def parts
        return [Part.new(names.first, @raw, nil)] if whole?

        groups.map { |group, columns| part(group, columns) }.select { |part| part.samples.positive? }
      end

      private

      # @param indexes [Array] of strings
      def check(indexes)
        raise Wire::Broken unless indexes.flatten.all? { |index| index < @strings.size }
      end

      # @return [Hash{String => Array<Integer>}] group => the places of its values
      def groups = @groups ||= @types.each_index.group_by { |index| group_of(texts(@types[index])) }

      def whole? = groups.one? && (names.first == TIME || texts(@period) == PERIODS[names.first])

      # Of our own files, what is not in the table is what the program counts; of those of others, what their period says.
      def group_of(type)
        TYPES[type] || (@is_own ? CUSTOM : PERIODS.key(texts(@period)) || TIME)
      end

      def texts(type) = type&.map { |index| @strings[index].to_s.dup.force_encoding(Encoding::UTF_8) }

      # @return [Array(Integer, Integer)] the places of the type's and the unit's text
      def type_in(message)
        raise Wire::Broken unless message.is_a?(String)

        type = [0, 0]
        Wire.each_field(message) { |field, value, *| type[field - 1] = value if field.between?(1, 2) && value.is_a?(Integer) }
        type
      end

      def part(group, columns)
        samples = types = 0
        kept = +"".b
        Wire.each_field(@raw) do |field, value, from, to|
          case field
          when SAMPLE then (one = picked(value, columns)) && (samples += 1) && (kept << Wire.field(SAMPLE, one))
          when SAMPLE_TYPE then kept << @raw.byteslice(from...to) if columns.include?((types += 1) - 1)
          else kept << @raw.byteslice(from...to) unless own_of_each?(field, group)
          end
        end
        Part.new(group, kept << header(group, columns), samples)
      end

      def own_of_each?(field, group) = [PERIOD_TYPE, DEFAULT_TYPE].include?(field) || (field == PERIOD && group != TIME)

      # @return [String, nil] nil: it has nothing of these values
      def picked(sample, columns)
        raise Wire::Broken unless sample.is_a?(String)

        values = []
        rest = +"".b
        Wire.each_field(sample) do |field, value, from, to|
          if field == SAMPLE_VALUE then values.concat(Wire.numbers(value))
          else rest << sample.byteslice(from...to)
          end
        end
        values = columns.map { |column| values[column] || 0 }
        rest << Wire.list(SAMPLE_VALUE, values) unless values.all?(0)
      end

      # The period's texts come behind all others, whose places stay.
      def header(group, columns)
        texts = PERIODS[group]
        period = texts.each_index.map { |at| Wire.field(at + 1, @strings.size + at) }.join
        fields = texts.map { |text| Wire.field(STRING, text) } << Wire.field(PERIOD_TYPE, period)
        fields << Wire.field(PERIOD, 1) unless group == TIME
        (fields << Wire.field(DEFAULT_TYPE, default_among(columns))).join
      end

      def default_among(columns)
        types = columns.map { |column| @types[column].first }
        types.include?(@default) ? @default : types.first
      end
    end
  end
end
