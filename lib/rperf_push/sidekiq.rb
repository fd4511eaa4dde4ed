# frozen_string_literal: true

require_relative "."
require_relative "integrations/activity"

module RperfPush
  # Labels the samples of a Sidekiq job with its class and its queue. For an Active Job this is the job's class, not the wrapper's.
  #
  #   Sidekiq.configure_server do |config|
  #     config.server_middleware { |chain| chain.add RperfPush::SidekiqMiddleware }
  #   end
  class SidekiqMiddleware
    def call(_worker, job, queue, &)
      Activity.run({ job: (job["wrapped"] || job["class"]).to_s, queue: queue.to_s }, &)
    end
  end
end
