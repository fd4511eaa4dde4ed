# frozen_string_literal: true

require_relative "git"
require_relative "../base/json_text"

module RperfPush
  # Tags below those of the block and of the environment.
  class DefaultTags
    # No repository is read: the application may run from anywhere. What is no commit or address keeps nothing from starting.
    #
    # @param env [#[]] the environment
    def self.of_commit(env)
      new(Git.labels(env, nil).transform_keys(&:to_s), "the commit in the environment")
    end

    # @param tags [Hash{String => String}]
    # @param origin [String] who says so, for the core's messages
    def initialize(tags, origin)
      @tags = tags
      @origin = origin
    end

    # @param given [Hash{String => Object}]
    # @param texts [Hash{String => Array(String, String)}] of {Environment}
    # @return [Array(Hash, Hash)] both, over these tags
    def under(given, texts)
      return [given, texts] if @tags.empty?
      return [given, texts.merge("tags" => text_over(*texts["tags"]))] unless given["tags"].is_a?(Hash)

      [given.merge("tags" => @tags.merge(given["tags"].transform_keys(&:to_s))), texts]
    end

    private

    # The variable's text may be "k=v,k=v" or JSON: what is added to it has the same form. The core says what is wrong with the rest.
    def text_over(text = nil, origin = @origin)
      text = text.to_s
      whole = text.scrub # the core says what is wrong with a text that is not valid
      json = whole.lstrip.start_with?("{")
      added = @tags.reject { |key, _| whole.match?(json ? /"#{key}"\s*:/ : /(?:\A|,)\s*#{key}\s*=/) }
      return [json_over(added, text.lstrip.delete_prefix("{").lstrip), origin] if json

      [[*added.map { |key, value| "#{key}=#{value}" }, *(text unless text.empty?)].join(","), origin]
    end

    def json_over(added, rest)
      "{#{JSONText.pairs(added).join(",")}#{"," unless added.empty? || rest.start_with?("}")}#{rest}"
    end
  end
end
