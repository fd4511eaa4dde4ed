# frozen_string_literal: true

# What specs use of the standard library: examples come in random order, so none may rely on what another one has loaded.
require "fileutils"
require "json"
require "net/http"
require "pathname"
require "socket"
require "timeout"
require "uri"
require "zlib"
require_relative "../lib/rperf_push/settings/git"
Dir[File.join(__dir__, "support", "helpers", "*.rb")].each { |file| require file }

# What the specs read is UTF-8, whatever the locale. The programs that they start have the locale of the run.
Encoding.default_external = Encoding::UTF_8

# Where a CI runs the specs, its commit is not to be among the tags of their programs.
RperfPush::Git::PLACES.each { |place| ENV.delete(place.commit) }

RSpec.configure do |config|
  config.include Waiting
  config.include RubyProgram
  config.include SamplingError
  config.include TemporaryFolder
  config.include UnicornHere
  config.extend WithEachEngine

  config.order = :random
  Kernel.srand config.seed
  config.filter_run_when_matching :focus
  config.disable_monkey_patching!
  config.expect_with(:rspec) { |expectations| expectations.include_chain_clauses_in_custom_matcher_descriptions = true }
  config.mock_with(:rspec) { |mocks| mocks.verify_partial_doubles = true }
  config.shared_context_metadata_behavior = :apply_to_host_groups
  config.example_status_persistence_file_path = File.expand_path("../tmp/rspec-status", __dir__)
  config.reporter.register_listener(FailureList.new(ENV["RSPEC_FAILURES"]), :dump_summary) if ENV["RSPEC_FAILURES"]
  config.warnings = false # the gems' own; the project's are asked for by bin/test
end
