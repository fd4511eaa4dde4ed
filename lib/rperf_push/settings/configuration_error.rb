# frozen_string_literal: true

module RperfPush
  # {RperfPush.configure!} raises it. Its message has one line for each error.
  class ConfigurationError < StandardError
    # @return [Array<String>]
    attr_reader :errors
    alias mistakes errors

    # @param errors [Array<String>]
    def initialize(errors)
      @errors = errors.dup.freeze
      super(errors.join("\n"))
    end
  end
end
