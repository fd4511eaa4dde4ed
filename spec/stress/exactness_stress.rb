# frozen_string_literal: true

require_relative "../support/exactness_examples"

# Five minutes each. The seed of a run that failed is RSpec's.
RSpec.describe "Windows under a server that fails at random" do
  context "with all that waits in memory" do
    include_examples "windows that arrive once or are counted", 300
  end

  context "with a spool that processes share and are killed over" do
    include_examples "windows that outlive their processes", 300
  end
end
