# frozen_string_literal: true

require_relative "control_refusal"

module RperfPush
  # What a document must have, so that it can be shown.
  module ControlShape
    NUMBER = ->(value) { value.is_a?(Integer) && value >= 0 && value.bit_length <= 64 }
    TEXT_OR_NONE = ->(value) { value.nil? || value.is_a?(String) }
    NUMBER_OR_NONE = ->(value) { value.nil? || NUMBER.call(value) }
    NUMBERS = %w[threads_known overhead_ppm last_upload_ok_at_ns last_error_at_ns payloads_unconfirmed payloads_dropped_queue_full
                 payloads_dropped_too_old payloads_dropped_rejected payloads_dropped_retries payloads_dropped_shutdown
                 payloads_dropped_spool_full payloads_dropped_damaged encode_failures].freeze
    FRAME = ->(value) { value in [String, String, Integer] }
    THREAD = {
      "tid" => NUMBER, "name" => String, "state" => String, "for_ns" => NUMBER_OR_NONE, "cpu_permille" => NUMBER_OR_NONE, "labels" => Hash,
      "stack_age_ns" => NUMBER, "stack" => ->(value) { value.is_a?(Array) && value.all?(FRAME) }
    }.freeze
    # By the verb that asks for it; the answer to another verb is not shown as it is.
    ALL = {
      "ps" => { "pid" => NUMBER, "ruby" => String, "application" => TEXT_OR_NONE, "engine" => TEXT_OR_NONE, "viewer" => TEXT_OR_NONE,
                "last_error" => TEXT_OR_NONE, **NUMBERS.to_h { |name| [name, NUMBER] } },
      "stacks" => { "pid" => NUMBER, "at_ns" => NUMBER, "why" => TEXT_OR_NONE,
                    "threads" => ->(value) { value.is_a?(Array) && value.all? { |one| ControlShape.fits?(one, THREAD) } } }
    }.freeze

    module_function

    def fits?(document, members)
      document.is_a?(Hash) && members.all? { |name, member| member === document[name] } # rubocop:disable Style/CaseEquality
    end

    # @return [Hash] the same document
    # @raise [ControlRefusal]
    def check(verb, document)
      return document if fits?(document, ALL.fetch(verb, {}))

      raise ControlRefusal, "its answer to #{verb} is none of this version of rperf-push"
    end
  end
end
