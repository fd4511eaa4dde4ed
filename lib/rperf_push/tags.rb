# frozen_string_literal: true

require_relative "settings/git"

module RperfPush
  # Tags that say what runs: for `config.tags`, where they are wanted.
  #
  #   config.tags = { env: "production", **RperfPush::Tags.runtime, **RperfPush::Tags.commit }
  module Tags
    module_function

    # @return [Hash{Symbol => String}] as OpenTelemetry calls them
    def runtime = { process_runtime_name: RUBY_ENGINE, process_runtime_version: RUBY_VERSION }

    # What Pyroscope needs to link a frame to its source. Empty where neither the environment nor a repository knows. What the environment
    # knows is among the tags by itself.
    #
    # @param env [#[]] the environment
    # @param directory [String] in the repository; nil: only the environment is asked
    # @return [Hash{Symbol => String}] service_git_ref, service_repository and service_root_path
    def commit(env: ENV, directory: WorkingFolder.path) = Git.labels(env, directory)
  end
end
