# frozen_string_literal: true

require "resque"
require_relative "."
require_relative "integrations/activity"

module RperfPush
  # Labels the samples of a Resque job with its class and its queue: `require "rperf_push/resque"`.
  #
  # Resque runs each job in a child that ends without exit handlers, so the child delivers its profile before it ends.
  module ResqueJobs
    # A job of a queue.
    module Job
      def perform
        Activity.run({ job: ResqueJobs.class_of(payload), queue: queue.to_s }) { super }
      end
    end

    # The worker, and the settings that its child uses.
    module Worker
      def perform_with_fork(*)
        @rperf_push_parent = Process.pid
        super
      end

      def perform(*)
        super
      ensure
        RperfPush.shutdown if @rperf_push_parent && @rperf_push_parent != Process.pid && !run_at_exit_hooks
      end
    end

    # The real class of an Active Job.
    def self.class_of(payload)
      name = payload["class"].to_s
      first = payload["args"]&.first
      name.end_with?("::JobWrapper") && first.is_a?(Hash) ? first.fetch("job_class", name) : name
    end

    { ::Resque::Job => Job, ::Resque::Worker => Worker }.each { |owner, hooks| owner.prepend(hooks) }
  end
end
