# frozen_string_literal: true

module RperfPush
  # Raised by {RperfPush.configure!}. Its message holds one line for each mistake.
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
