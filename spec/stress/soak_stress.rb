# frozen_string_literal: true

require_relative "../support/soak_program"

# SOAK_SECONDS=600 is the long form: ten minutes for each Ruby and mode.
RSpec.describe "Ordinary code at the ordinary rate" do
  seconds = Integer(ENV.fetch("SOAK_SECONDS", "60"))

  context "without YJIT" do
    include_examples "a program that an ordinary rate does not harm", seconds, env: { "RUBY_YJIT_ENABLE" => "0" }
  end

  context "with YJIT" do
    include_examples "a program that an ordinary rate does not harm", seconds, env: { "RUBY_YJIT_ENABLE" => "1" }
  end
end
