# frozen_string_literal: true

require "delayed_job"
require_relative "."
require_relative "integrations/activity"

module RperfPush
  # Labels the samples of a Delayed Job job with its class (or "Class#method" for a call through `delay`) and its queue:
  # `require "rperf_push/delayed_job"`.
  class DelayedJobPlugin < ::Delayed::Plugin
    callbacks do |lifecycle|
      lifecycle.around(:invoke_job) do |job, *arguments, &block|
        Activity.run({ job: DelayedJobPlugin.class_of(job), queue: job.queue.to_s }) { block.call(job, *arguments) }
      end
    end

    # The real class of an Active Job.
    def self.class_of(job)
      payload = job.payload_object
      return payload.job_data.fetch("job_class") if payload.respond_to?(:job_data)

      payload.is_a?(::Delayed::PerformableMethod) ? payload.display_name : payload.class.name.to_s
    rescue StandardError
      "unknown" # Delayed Job itself fails on a job that cannot be read
    end

    ::Delayed::Worker.plugins << self unless ::Delayed::Worker.plugins.include?(self)
  end
end
