# frozen_string_literal: true

Dir[File.join(__dir__, "support", "helpers", "*.rb")].each { |file| require file }

RSpec.configure do |config|
  config.include Patience
  config.include RubyProgram
  config.include TemporaryFolder
  config.extend WithEachEngine

  config.order = :random
  Kernel.srand config.seed
  config.filter_run_when_matching :focus
  config.disable_monkey_patching!
  config.expect_with(:rspec) { |expectations| expectations.include_chain_clauses_in_custom_matcher_descriptions = true }
  config.mock_with(:rspec) { |mocks| mocks.verify_partial_doubles = true }
  config.shared_context_metadata_behavior = :apply_to_host_groups
  config.example_status_persistence_file_path = File.expand_path("../#{ENV.fetch("RSPEC_STATUS", "tmp/rspec-status")}", __dir__)
  config.warnings = false # the gems' own; the project's are asked for by bin/test
end
