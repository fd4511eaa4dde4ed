# frozen_string_literal: true

require_relative "../support/exactness_examples"

# The short form; spec/stress has the one of five minutes.
RSpec.describe "Windows under a server that fails at random", :once, :waiting, :long do
  context "with all that waits in memory" do
    include_examples "windows that arrive once or are counted", 20
  end

  context "with a spool that processes share and are killed over" do
    include_examples "windows that outlive their processes", 12
  end
end
