# frozen_string_literal: true

module FakeBackend
  # What a server takes without a word, and `go tool pprof`, another server or our own promises do not.
  class ProfileViolations
    LEGAL_NAME = /\A[a-zA-Z_][a-zA-Z0-9_]*\z/
    DEPTH = 512
    STRING_BYTES = 65_535

    # @param profile [PprofMessages::WireProfile]
    # @return [Array<String>] in plain words, none for a good profile
    def self.of(profile) = new(profile).list

    # @param labels [Array<Array(String, String)>] of a series
    # @return [Array<String>]
    def self.of_names(labels)
      labels.map(&:first).reject { |name| name.match?(LEGAL_NAME) }.map { |name| "series label #{name.inspect} is not legal" }
    end

    def initialize(profile)
      @profile = profile
      @strings = profile.string_table.map { |string| string.dup.force_encoding(Encoding::UTF_8) }
    end

    def list
      [*header, *ids, *mappings, *functions, *samples, *labels].uniq
    end

    private

    def string(index) = @strings.fetch(index, "")

    def header
      types = @profile.sample_type.map { |type| string(type.type) }
      [
        ("string_table[0] is not empty" unless @strings.first == ""),
        ("no period_type" unless @profile.period_type && !string(@profile.period_type.type).empty?),
        ("no period" unless @profile.period.positive?),
        ("default_sample_type is none of #{types}" unless types.include?(string(@profile.default_sample_type))),
        ("no time_nanos" unless @profile.time_nanos.positive?),
        ("no duration_nanos" unless @profile.duration_nanos.positive?),
        ("drop_frames or keep_frames is set" unless @profile.drop_frames.zero? && @profile.keep_frames.zero?),
        ("doc_url is not absolute" unless ["", %r{\Ahttps?://}].any? { |url| url === string(@profile.doc_url) }),
        ("a string of more than #{STRING_BYTES} bytes" if @strings.any? { |text| text.bytesize > STRING_BYTES })
      ].compact
    end

    def ids
      { "mapping" => @profile.mapping, "location" => @profile.location, "function" => @profile.function }
        .reject { |_, things| things.map(&:id) == (1..things.size).to_a }
        .map { |name, _| "#{name} ids are not 1..N in order" }
    end

    def mappings
      good = @profile.mapping.any? && @profile.mapping.all? do |mapping|
        mapping.has_functions && mapping.has_filenames && mapping.has_line_numbers && mapping.filename.positive?
      end
      [("no complete mapping" unless good),
       ("a location without mapping" if @profile.location.any? { |location| location.mapping_id.zero? }),
       ("two locations of one function and line" if twice?(@profile.location) { |location| location.line.map(&:to_h) })].compact
    end

    def functions
      same = @profile.function.find { |function| function.system_name.positive? && function.system_name == function.name }
      [("function #{string(same.name).inspect} repeats its name as system_name" if same),
       ("a function without name" if @profile.function.any? { |function| string(function.name).empty? })].compact
    end

    def samples
      sizes = @profile.sample.map { |sample| sample.location_id.size }
      [("an empty profile" if sizes.empty?),
       ("a sample without location" if sizes.include?(0)),
       ("a stack of #{sizes.max} frames" if sizes.max.to_i > DEPTH),
       ("a negative value" if @profile.sample.any? { |sample| sample.value.any?(&:negative?) })].compact
    end

    def labels
      kinds = Hash.new { |hash, key| hash[key] = [] }
      found = @profile.sample.flat_map do |sample|
        sample.label.each { |label| kinds[label.key] |= [label.str.zero? ? :number : :text] }
        twice = twice?(sample.label, &:key) ? ["a label key twice in one sample"] : []
        twice + sample.label.flat_map { |label| of_label(label) }
      end
      mixed = kinds.select { |_, both| both.size > 1 }
      found.uniq + mixed.keys.map { |key| "label #{string(key).inspect} is text here and a number there" }
    end

    def of_label(label)
      key = string(label.key).inspect
      [("label #{key} has both text and number" if label.str.positive? && label.num != 0),
       ("label #{key} is 0 without unit" if label.str.zero? && label.num.zero? && label.num_unit.zero?),
       ("label #{key} is not legal" if label.str.positive? && !string(label.key).match?(LEGAL_NAME))].compact
    end

    def twice?(things, &) = things.to_a.uniq(&).size != things.size
  end
end
