# frozen_string_literal: true

require_relative ".."
require_relative "wire"

module RperfPush
  module CLI
    # The values of a pprof by the groups in which servers keep them (core/base/value_types.h): each group is a profile of its own, with
    # a period of its own.
    class ProfileGroups
      GROUPS = Native.value_groups.freeze
      PERIODS = GROUPS.map { |_, *period, _| period }.freeze
      NAMES = GROUPS.map { |name, *| name }.freeze
      TIME = NAMES.index("process_cpu")
      CUSTOM = NAMES.index("custom")
      TYPES = Native.value_types.to_h { |type, unit, group| [[type, unit], group] }.freeze

      # Numbers of profile.proto's fields.
      SAMPLE_TYPE = 1
      SAMPLE = 2
      SAMPLE_VALUE = 2
      STRING = 6
      DURATION = 10
      PERIOD_TYPE = 11
      PERIOD = 12
      COMMENT = 13
      DEFAULT_TYPE = 14

      # Uncompressed.
      Part = Struct.new(:group, :raw, :samples)

      # Two groups may have the name that servers give them in common: a level has no duration, so it is a profile of its own.
      #
      # @return [String] for people
      def self.name_of(group) = level?(group) ? "#{NAMES[group]} in use" : NAMES[group]
      # @return [Boolean] whether its values are levels, not sums over a time
      def self.level?(group) = GROUPS[group].last

      # @param raw [String] an uncompressed pprof
      # @raise [Wire::Broken]
      def initialize(raw)
        @raw = raw
        @strings = []
        @types = []
        comments = read
        check([*@types, *@period, *comments])
        @is_own = comments.any? { |index| @strings[index].to_s.start_with?("rperf-push ") }
      end

      # @return [Array<Integer>] groups, in the order of their first values
      def numbers = groups.keys

      # @return [Array<Part>] without groups that have no sample; a file of one group as it is
      # @raise [Wire::Broken]
      def parts
        return [Part.new(numbers.first, @raw, nil)] if whole?

        groups.map { |group, columns| part(group, columns) }.select { |part| part.samples.positive? }
      end

      private

      # @return [Array<Integer>] the places of the comments' texts
      def read
        comments = []
        Wire.each_field(@raw) do |field, value, *|
          case field
          when STRING then @strings << value
          when SAMPLE_TYPE then @types << type_in(value)
          when PERIOD_TYPE then @period = type_in(value)
          when COMMENT then comments.concat(Wire.numbers(value))
          when DEFAULT_TYPE then @default = value
          when DURATION then @has_duration = value != 0
          end
        end
        comments
      end

      # @param indexes [Array] of strings
      def check(indexes)
        raise Wire::Broken unless indexes.flatten.all? { |index| index < @strings.size }
      end

      # @return [Hash{Integer => Array<Integer>}] group => the places of its values
      def groups = @groups ||= @types.each_index.group_by { |index| group_of(texts(@types[index])) }

      def whole?
        return false unless groups.one?

        group = numbers.first
        group == TIME || (texts(@period) == PERIODS[group] && !(@has_duration && self.class.level?(group)))
      end

      # Of our own files, what is not in the table is what the program counts; of those of others, what their period says: their
      # live objects are beside their allocations.
      def group_of(type)
        known = TYPES[type]
        return known || CUSTOM if @is_own
        return known if known && !self.class.level?(known)

        PERIODS.index(texts(@period)) || TIME
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

      def own_of_each?(field, group)
        [PERIOD_TYPE, DEFAULT_TYPE].include?(field) || (field == PERIOD && group != TIME) || (field == DURATION && self.class.level?(group))
      end

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
