# frozen_string_literal: true

module RperfPush
  # JSON of plain values, for where the gem json must not be loaded yet: RUBYOPT loads this gem before
  # Bundler chooses the versions of others.
  module JSONText
    module_function

    # @param value [Hash, Array, String, Symbol, Integer, Float, true, false, nil]
    # @return [String]
    def of(value)
      case value
      when Hash then "{#{pairs(value).join(",")}}"
      when Array then "[#{(value.all?(Integer) ? value : value.map { |one| of(one) }).join(",")}]"
      when Symbol then of(value.name)
      when String then "\"#{value.scrub("?").gsub(/["\\\x00-\x1f]/) { |character| format("\\u%04x", character.ord) }}\""
      when nil then "null"
      else value.to_s
      end
    end

    # @return [Array<String>]
    def pairs(hash) = hash.map { |key, value| "#{of(key.to_s)}:#{of(value)}" }
  end
end
