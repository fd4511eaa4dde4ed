# frozen_string_literal: true

class FakePyroscope
  # What a decoded profile must be like.
  module ProfileRules
    BYTES = 4 * 1024 * 1024
    SAMPLES = 16_000
    SAMPLE_LABELS = 100
    DEPTH = 1000
    OLDEST_MS = 60 * 60 * 1000
    NEWEST_MS = 10 * 60 * 1000

    # @param profile [PprofMessages::WireProfile]
    # @param now_ms [Integer]
    # @raise [Refusal]
    def self.check(profile, now_ms)
      malformed("empty profile") if profile.sample_type.empty?
      check_time(profile.time_nanos / 1_000_000, now_ms) if profile.time_nanos.positive?
      check_sizes(profile)
      malformed("location id is 0") if profile.location.any? { |location| location.id.zero? }
      malformed("function id is 0") if profile.function.any? { |function| function.id.zero? }
      check_values(profile)
      check_indices(profile)
      check_strings(profile)
    end

    def self.check_time(at_ms, now_ms)
      return if at_ms > now_ms - OLDEST_MS && at_ms < now_ms + NEWEST_MS

      malformed("profile is outside of ingestion window (profile timestamp: #{at_ms}, now: #{now_ms})")
    end

    def self.check_sizes(profile)
      if profile.sample.size > SAMPLES
        malformed("the profile exceeds the samples count limit (actual: #{profile.sample.size}, limit: #{SAMPLES})")
      end
      most = profile.sample.map { |sample| sample.label.size }.max.to_i
      malformed("the profile exceeds the sample labels limit (actual: #{most}, limit: #{SAMPLE_LABELS})") if most > SAMPLE_LABELS
    end

    def self.check_values(profile)
      count = profile.sample_type.size
      malformed("sample value length mismatch") if profile.sample.any? { |sample| sample.value.size != count }
    end

    def self.check_indices(profile)
      malformed("string 0 should be empty string") unless profile.string_table.first == ""
      size = profile.string_table.size
      indices(profile).each { |what, index| malformed("#{what} string index out of range") unless index.between?(0, size - 1) }
    end

    def self.indices(profile)
      profile.sample_type.map { |type| ["sample type", type.type] } +
        profile.sample.flat_map { |sample| sample.label.flat_map { |l| [["sample label", l.key], ["sample label", l.str]] } } +
        profile.function.flat_map { |f| [f.name, f.system_name, f.filename].map { |index| ["function", index] } } +
        profile.mapping.flat_map { |m| [m.filename, m.build_id].map { |index| ["mapping", index] } }
    end

    def self.check_strings(profile)
      malformed("sample type contains -") if profile.sample_type.any? { |type| profile.string_table[type.type].include?("-") }
      profile.string_table.each do |string|
        valid = string.dup.force_encoding(Encoding::UTF_8).valid_encoding?
        malformed("invalid utf8 string hex: #{string.unpack1("H*")}") unless valid
      end
    end

    def self.malformed(message) = raise(Refusal.new("invalid_argument", message))
    private_class_method :check_time, :check_sizes, :check_values, :check_indices, :indices, :check_strings, :malformed
  end
end
