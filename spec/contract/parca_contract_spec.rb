# frozen_string_literal: true

require_relative "../support/parca_double/remote"
require_relative "../support/parca_server"
require_relative "contract"
require_relative "parca_rules"
require_relative "profiled_program"

RSpec.describe "The contract with Parca" do
  extend Contract

  kept_by_both double: ParcaDouble::Remote, server: ParcaServer,
               examples: ["a Parca", "a Parca that a profiled program writes to"]
end
