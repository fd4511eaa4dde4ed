# frozen_string_literal: true

module RperfPush
  # JSON of Hashes, texts, numbers, true, false and nil, for where the gem json must not be loaded yet: RUBYOPT loads this gem before
  # Bundler chooses the versions of others.
  module JSONText
    module_function

    # @param value [Hash, String, Integer, Float, true, false, nil] texts are valid
    # @return [String]
    def of(value)
      case value
      when Hash then "{#{pairs(value).join(",")}}"
      when String then "\"#{value.gsub(/["\\\x00-\x1f]/) { |character| format("\\u%04x", character.ord) }}\""
      when nil then "null"
      else value.to_s
      end
    end

    # @return [Array<String>]
    def pairs(hash) = hash.map { |key, value| "#{of(key.to_s)}:#{of(value)}" }
  end
end
