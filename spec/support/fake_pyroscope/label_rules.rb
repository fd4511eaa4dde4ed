# frozen_string_literal: true

class FakePyroscope
  # What a set of labels must be like: a series' own, or those with the string labels of a sample added.
  class LabelRules
    NAMES = 30
    NAME_BYTES = 1024
    VALUE_BYTES = 2048
    SANITIZABLE = /\A[a-zA-Z_.][a-zA-Z0-9_.]*\z/

    # @param sanitize [Boolean] whether dots become underscores and other illegal names are refused, or any UTF-8 goes
    def initialize(sanitize:)
      @sanitize = sanitize
    end

    # @param pairs [Array<Array(String, String)>]
    # @return [Hash{String => String}] sorted, with legal names
    # @raise [Refusal]
    def check(pairs)
      pairs = pairs.sort
      invalid("profile series '%s' has %d label names; limit %d", pairs, pairs.size, NAMES) if pairs.size > NAMES
      given = pairs.to_h
      invalid_labels(pairs, "invalid metric name") if given["__name__"].to_s.empty?
      invalid_labels(pairs, "service name is not provided") if given["service_name"].to_s.empty?
      pairs.each { |name, value| check_pair(pairs, name, value) }
      unique(pairs)
    end

    private

    def check_pair(pairs, name, value)
      invalid("profile with labels '%s' has label name too long: '%s'", pairs, name) if name.bytesize > NAME_BYTES
      invalid("profile with labels '%s' has label value too long: '%s'", pairs, value) if value.bytesize > VALUE_BYTES
      invalid_labels(pairs, "invalid label name '#{name}'") unless legal?(name)
      invalid_labels(pairs, "invalid label value '#{value}'") unless value.valid_encoding?
    end

    def legal?(name)
      return false if name.empty? || !name.valid_encoding?

      !@sanitize || name.match?(SANITIZABLE)
    end

    # Two names that become one are let through if they say the same; one name twice never is.
    def unique(pairs)
      legal = pairs.map { |name, value| [@sanitize ? name.tr(".", "_") : name, value] }
      twice = repeated(pairs) || repeated(legal.uniq)
      invalid("profile with labels '%s' has duplicate label name: '%s'", pairs, twice) if twice
      legal.sort.to_h
    end

    def repeated(pairs) = pairs.map(&:first).tally.find { |_, count| count > 1 }&.first

    def invalid_labels(pairs, why) = invalid("invalid labels '%s' with error: #{why.gsub("%", "%%")}", pairs)

    def invalid(format, pairs, *rest)
      shown = pairs.map { |name, value| "#{name}=\"#{value}\"" }.join(", ")
      raise Refusal.new("invalid_argument", format(format, "{#{shown}}", *rest))
    end
  end
end
