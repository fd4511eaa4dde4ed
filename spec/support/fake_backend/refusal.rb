# frozen_string_literal: true

module FakeBackend
  # An answer that says no: one of the error codes of gRPC and Connect, its HTTP status, and a message for people.
  class Refusal < StandardError
    STATUS = {
      "unknown" => 500, "invalid_argument" => 400, "unauthenticated" => 401, "not_found" => 404, "unprocessable" => 422,
      "resource_exhausted" => 429, "internal" => 500, "unimplemented" => 501, "unavailable" => 503, "deadline_exceeded" => 504
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
