# frozen_string_literal: true

require_relative "../support/stress_program"

# 5 minutes for each Ruby. The seed of a run that failed is in its output.
RSpec.describe "Captures at 5 kHz" do
  context "without YJIT" do
    include_examples "a program that survives captures", 150, env: { "RUBY_YJIT_ENABLE" => "0" }
  end

  context "with YJIT" do
    include_examples "a program that survives captures", 150, env: { "RUBY_YJIT_ENABLE" => "1" }
  end
end
