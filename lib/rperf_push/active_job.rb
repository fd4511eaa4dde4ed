# frozen_string_literal: true

require_relative "."
require_relative "integrations/activity"

module RperfPush
  # Labels the samples of a job with its class and its queue. In Rails the railtie includes it in ActiveJob::Base, for every adapter
  # (Solid Queue, GoodJob, Sidekiq). Elsewhere:
  #
  #   class ApplicationJob < ActiveJob::Base
  #     include RperfPush::ActiveJobMiddleware
  #   end
  #
  # Including it twice does no harm: the labels are the same.
  module ActiveJobMiddleware
    # Wraps all callbacks of the job and its retries, which run inside ActiveJob::Base#perform_now.
    def perform_now
      Activity.run({ job: self.class.name.to_s, queue: queue_name.to_s }) { super }
    end
  end
end
