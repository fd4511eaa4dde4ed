# frozen_string_literal: true

class FakeParca
  # What a decoded profile must be like.
  module ProfileRules
    # @param profile [PprofMessages::WireProfile]
    # @raise [Refusal]
    # @raise [Crash]
    def self.check(profile)
      raise Crash, "a profile without period_type" unless profile.period_type
      raise Crash, "an empty profile" if profile.sample.none? { |sample| sample.value.any? { |value| !value.zero? } }

      check_ids(profile)
      check_samples(profile)
      return if profile.sample_type.none? { |type| profile.string_table[type.type].include?("-") }

      raise Refusal.new("internal", "a - in a sample type")
    end

    def self.check_ids(profile)
      invalid("the first string is not empty") unless profile.string_table.first == ""
      { mapping: profile.mapping, function: profile.function, location: profile.location }.each do |name, things|
        invalid("#{name} id is not sequential") if things.map(&:id) != (1..things.size).to_a
      end
    end

    def self.check_samples(profile)
      types = profile.sample_type.size
      profile.sample.each do |sample|
        invalid("mismatch: sample has #{sample.value.size} values vs. #{types} types") if sample.value.size != types
        invalid("location is out of range") unless sample.location_id.all? { |id| id.between?(1, profile.location.size) }
        invalid("label has no key") if sample.label.any? { |label| label.key.zero? }
      end
    end

    def self.invalid(message) = raise(Refusal.new("invalid_argument", "invalid profile: #{message}"))
    private_class_method :check_ids, :check_samples, :invalid
  end
end
