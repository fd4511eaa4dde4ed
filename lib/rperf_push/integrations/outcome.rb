# frozen_string_literal: true

module RperfPush
  # How a request ends, for the option `outcome_labels`: when it is over, its samples in the windows that are still open are labelled
  # with `status` and `slow`.
  module Outcome
    module_function

    # The outcome comes before the labels, so that no sample has a path in its labels that is not yet known to have no route.
    #
    # @param labels [Hash{Symbol => String, nil}]
    # @param label_key [Symbol] of the label that names the request's endpoint
    # @yieldreturn [Array] Rack's response
    # @return [Object] the block's value
    def follow(labels, label_key, &block)
      Native.with_outcome do |handle|
        next Native.with_labels(labels, &block) unless handle # it is part of another request

        Native.with_labels(labels) { end_with(handle, label_key, &block) }
      end
    end

    # An exception is a status 500 to the client. A `throw` leaves the answer to the server.
    def end_with(handle, label_key)
      status = nil
      response = yield
      status = status_of(response)
      response
    rescue Exception # rubocop:disable Lint/RescueException -- it is raised again
      status = 500
      raise
    ensure
      Native.end_outcome(handle, status, label_key)
    end

    # The server judges what is no response.
    def status_of(response)
      response.first.to_i
    rescue StandardError
      nil
    end

    private_class_method :end_with, :status_of
  end
end
