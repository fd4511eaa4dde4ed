# frozen_string_literal: true

require_relative "profile_rules"

class FakePyroscope
  # A profile as the server keeps it: normalised, and cut into one group for each distinct set of string labels.
  class SplitProfile
    # These stay with the samples; the others become labels of a series.
    SAMPLE_LEVEL = %w[span_id trace_id].freeze

    Frame = Struct.new(:name, :filename, :line, :start_line, :system_name)
    Row = Struct.new(:stack, :values, :span_id)

    attr_reader :time_ms, :types

    # @param profile [PprofMessages::WireProfile] one that ProfileRules has found good
    # @param now_ns [Integer] the time of a profile that has none
    def initialize(profile, now_ns)
      @profile = profile
      @strings = profile.string_table.map { |string| string.dup.force_encoding(Encoding::UTF_8) }
      @time_ms = (profile.time_nanos.positive? ? profile.time_nanos : now_ns) / 1_000_000
      @types = profile.sample_type.map { |type| value_type(type) }
      read_locations
    end

    # @return [Array(String, String)]
    def period_type = @profile.period_type ? value_type(@profile.period_type) : ["", ""]

    # @return [Hash{Hash => Array<Row>}] rows by their string labels, of the samples that count
    def groups
      kept = @profile.sample.select { |sample| counts?(sample) }
      kept.group_by { |sample| series_labels(sample) }.transform_values { |samples| samples.map { |sample| row(sample) } }
    end

    private

    def value_type(type) = [@strings[type.type], @strings[type.unit]]

    def counts?(sample)
      sample.value.none?(&:negative?) && sample.value.any?(&:positive?) && sample.location_id.all? { |id| @locations.key?(id) }
    end

    def row(sample)
      # The depth limit is the server's: it takes frames away at the leaf.
      ids = sample.location_id.to_a.last(ProfileRules::DEPTH)
      Row.new(ids.flat_map { |id| @locations[id] }, sample.value.to_a, texts(sample)["span_id"])
    end

    def series_labels(sample) = texts(sample).except(*SAMPLE_LEVEL)

    # The first of a key wins; numbers, and empty strings, are as absent.
    def texts(sample)
      sample.label.each_with_object({}) do |label, texts|
        value = @strings[label.str]
        texts[@strings[label.key].sub(/\Aprofile_id\z/, "span_id")] ||= value unless value.empty?
      end
    end

    def read_locations
      functions = @profile.function.to_h { |function| [function.id, function] }
      known = @profile.location.select { |location| location.line.all? { |line| functions.key?(line.function_id) } }
      @locations = known.to_h { |location| [location.id, frames(location, functions)] }
    end

    def frames(location, functions)
      location.line.map do |line|
        function = functions[line.function_id]
        Frame.new(@strings[function.name], @strings[function.filename], line.line, function.start_line,
                  @strings[function.system_name])
      end
    end
  end
end
