# frozen_string_literal: true

require "rperf_push/cli/settings"
require "rperf_push/cli/advice"

RSpec.describe "The core's tables in Ruby", :once, :short do
  it "gives each state a label that is its own, and finds it by that" do
    states = RperfPush::States::ALL
    expect(states.map { |state| [state.key, state.value] }.uniq.size).to eq(states.size)
    states.each { |state| expect(RperfPush::States.of(:env => "prod", state.key.to_sym => state.value)).to be(state) }
    expect(RperfPush::States.of({ env: "prod" })).to be_nil
    expect(RperfPush::States.of({ "%GVL" => "nothing that we know" })).to be_nil
  end

  it "gives each mode bits of its own" do
    bits = RperfPush::StartOptions::MODES.values
    expect(bits.sum).to eq(bits.reduce(:|)).and be_positive
  end

  it "has advice for codes that the core knows" do
    expect(RperfPush::CLI::Advice::FAILURES.keys - RperfPush::Native.failures).to eq([])
  end
end
