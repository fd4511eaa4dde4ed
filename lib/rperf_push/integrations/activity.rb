# frozen_string_literal: true

require_relative "outcome"

module RperfPush
  # Runs a request or a job for an integration. {run} profiles it if a session on demand waits for that
  # (`start(defer: true)`), labels it if only the continuous session runs, and only calls the block if nothing runs.
  module Activity
    module_function

    # @param labels [Hash{Symbol => String, nil}]
    # @return [Object] the block's value
    def run(labels, &block)
      Native.join { Native.with_labels(labels, &block) }
    end

    # The same for a request, with its outcome if the option `outcome_labels` asks for that.
    #
    # @param label_key [Symbol] of the label that names the request's endpoint, now or later
    # @yieldreturn [Array] Rack's response
    # @return [Object] the block's value
    def serve(labels, label_key, &block)
      return run(labels, &block) unless Native.outcomes?

      Native.join { Outcome.follow(labels, label_key, &block) }
    end

    # Adds labels to the current {run}, until it ends.
    #
    # @param labels [Hash{Symbol => String}]
    # @return [void]
    def label(labels)
      Native.label(labels)
    end
  end
end
