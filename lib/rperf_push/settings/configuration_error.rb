# frozen_string_literal: true

module RperfPush
  # {RperfPush.configure!} raises it. Its message has one line for each mistake.
  class ConfigurationError < StandardError
    # @return [Array<String>]
    attr_reader :mistakes

    # @param mistakes [Array<String>]
    def initialize(mistakes)
      @mistakes = mistakes.dup.freeze
      super(mistakes.join("\n"))
    end
  end
end
