# frozen_string_literal: true

require_relative "refusal"

module FakeBackend
  # A label selector as in Prometheus: {service_name="shop", endpoint=~"GET /.*"}
  class Selector
    MATCHER = /\G\s*([^\s=!~{},"]+)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")\s*(?:,|\z)/

    # @param texts [Array<String>] all of them must match
    # @raise [Refusal]
    def initialize(*texts)
      @matchers = texts.flatten.flat_map { |text| parse(text) }
    end

    def match?(labels)
      @matchers.all? { |name, operator, value| matches?(labels.fetch(name, ""), operator, value) }
    end

    private

    def matches?(actual, operator, value)
      case operator
      when "=" then actual == value
      when "!=" then actual != value
      when "=~" then actual.match?(/\A(?:#{value})\z/)
      when "!~" then !actual.match?(/\A(?:#{value})\z/)
      end
    end

    def parse(text)
      inner = text[/\A\s*\{(.*)\}\s*\z/m, 1] or refuse(text)
      matchers = []
      position = 0
      while position < inner.rstrip.size
        match = inner.match(MATCHER, position) or refuse(text)
        matchers << [match[1], match[2], match[3].undump]
        position = match.end(0)
      end
      matchers
    end

    def refuse(text) = raise(Refusal.new("invalid_argument", "cannot parse the selector #{text.inspect}"))
  end
end
