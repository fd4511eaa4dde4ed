# frozen_string_literal: true

require_relative "refusal"

module FakeBackend
  # What goes wrong from now on with uploads, until cleared.
  #
  #   down:        "refuse" leaves the port, "close" takes the connection and closes it unanswered
  #   delay:       seconds before every answer; the profile is stored before
  #   status:      429, 500, 503 (nothing stored) or 504 (stored, as Pyroscope does)
  #   retry_after: the header of that name on such an answer
  #   message:     the text of such an answer
  #   lost_answer: true stores the profile and closes the connection
  #   lost_request: true reads the profile, stores nothing, and closes the connection
  class Faults
    NAMES = %i[down delay status retry_after message lost_answer lost_request].freeze
    CODES = { 429 => "resource_exhausted", 500 => "unknown", 503 => "unavailable", 504 => "deadline_exceeded" }.freeze

    def initialize
      @now = {}
    end

    # @param faults [Hash] replaces what was set before; an empty one clears it
    def set(**faults)
      unknown = faults.keys - NAMES
      raise ArgumentError, "unknown fault #{unknown.join(", ")}" if unknown.any?
      raise ArgumentError, "status is one of #{CODES.keys.join(", ")}" unless [nil, *CODES.keys].include?(faults[:status])

      @now = faults.compact
    end

    def refuse? = @now[:down] == "refuse"
    def close? = @now[:down] == "close"
    def lost_answer? = @now[:lost_answer] || @now[:lost_request]
    def delay = @now.fetch(:delay, 0)

    # @return [Refusal, nil]
    def refusal
      return Refusal.new("unknown", "told to forget it") if @now[:lost_request]

      status = @now[:status] and Refusal.new(CODES.fetch(status), @now.fetch(:message, "told to answer #{status}"))
    end

    # @return [Boolean] whether the fault is one in which the real server keeps the profile all the same
    def stored? = !@now[:lost_request] && (@now[:status].nil? || @now[:status] == 504)

    def headers = @now.key?(:retry_after) ? { "Retry-After" => @now[:retry_after].to_s } : {}
  end
end
