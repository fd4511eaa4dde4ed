# frozen_string_literal: true

require_relative "support/stress_program"

# A quarter of a minute on this Ruby, with YJIT if the run has it; rake stress takes longer.
RSpec.describe "Captures" do
  include_examples "a program that survives captures", 15

  context "when they break a promise" do
    include StressProgram

    before { skip "needs rake compile:testing" unless StressProgram.built? }

    { "allocate" => "an object was allocated", "collect" => "the GC started", "switch" => "threads were switched" }
      .each do |promise, message|
      it "are found out: #{message}" do
        err, status = stress(2, env: { "RPERF_PUSH_TESTING_BREAK" => promise })
        # In a capture at the end of a GC, Ruby itself may be the first to complain.
        expect(err).to match(/#{message} inside a capture|during garbage collection phase/)
        expect(status.termsig).to eq(Signal.list["ABRT"])
      end
    end
  end
end

RSpec.describe "Forks while uploads are slow" do
  include_examples "a program whose forks all end well", 5
end
