# frozen_string_literal: true

require_relative "../support/sweep_program"

# SWEEP_STEPS instructions of each operation at most. What was found is printed, for docs/numbers.md.
RSpec.describe "Captures at every instruction, the long form" do
  include SweepProgram

  { "without YJIT" => "0", "with YJIT" => "1" }.each do |mode, yjit|
    it "find the stack that is there, or wait, #{mode}" do
      found, err, status = sweep("--steps", ENV.fetch("SWEEP_STEPS", "1000000"), "--gap", 300_000, env: { "RUBY_YJIT_ENABLE" => yjit },
                                                                                                  timeout: 7_200)
      expect(status).to be_success, "#{status.inspect}\n#{err}"
      puts summary(mode, found)
      expect(wrong_in(found)).to be_empty
      expect(found["faulted"]).to eq(0)
    end
  end

  def summary(mode, found)
    outcomes = found["operations"].values.map { |operation| operation["outcomes"] }.inject { |a, b| a.merge(b) { |_, x, y| x + y } }
    steps = found["operations"].values.sum { |operation| operation["steps"] }
    "Ruby #{RUBY_VERSION} #{mode}: #{found["operations"].size} operations, #{steps} instructions, #{outcomes}, #{found["faulted"]} faults"
  end
end
