# frozen_string_literal: true

class PyroscopeDouble
  # An answer that says no: one of Connect's error codes, its HTTP status, and a message for people.
  class Refusal < StandardError
    STATUS = {
      "unknown" => 500, "invalid_argument" => 400, "unauthenticated" => 401, "resource_exhausted" => 429,
      "unimplemented" => 501, "unavailable" => 503, "deadline_exceeded" => 504
    }.freeze

    attr_reader :code

    def initialize(code, message)
      @code = code
      super(message)
    end

    # @return [Integer] the HTTP status
    def status = STATUS.fetch(code)
  end
end
