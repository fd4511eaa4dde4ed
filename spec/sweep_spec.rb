# frozen_string_literal: true

require_relative "support/sweep_program"

# A short form; rake sweep goes through all of it.
RSpec.describe "Captures at every instruction", :long do
  include StressProgram
  include SweepProgram

  before { skip "needs rake compile:testing" unless StressProgram.built? }

  yjit = RubyVM.const_defined?(:YJIT) && RubyVM::YJIT.enabled?

  it "find the stack that is there, or wait" do
    found, err, status = sweep("--steps", 10_000)
    expect(status).to be_success, "#{status.inspect}\n#{err}"
    expect(wrong_in(found)).to be_empty
    expect(found["faulted"]).to eq(0)
    expect(captured_in(found)).to be > 200_000
    expect(found["operations"].size).to be > 75
  end

  it "find the leaf whose pc compiled code leaves unset", if: yjit do
    found, err, status = sweep("--steps", 1_000_000, "leaf_after_megamorphic_call")
    expect(status).to be_success, "#{status.inspect}\n#{err}"
    expect(wrong_in(found)).to be_empty
  end

  context "with the VM's own walk" do
    let(:broken) { { "RPERF_PUSH_TESTING_BREAK" => "walk" } }

    # The wrong instant may be passed over where others take the core. Mostly it shows at once.
    def in_one_of_twenty(&) = 20.times.any?(&)

    # The interpreter moves them, with YJIT too. That the sweep would find it has to be seen once.
    it "crash, or find no method, where an environment moves to the heap", unless: yjit do
      shown = in_one_of_twenty do
        found, _, status = sweep("--steps", 200_000, "lambda_in_block", "lambda_with_match_three_deep", env: broken)
        !status.success? || wrong_in(found).any?
      end
      expect(shown).to be(true)
    end
  end
end
