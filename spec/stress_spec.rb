# frozen_string_literal: true

require_relative "support/soak_program"
require_relative "support/stress_program"

# Ten seconds on this Ruby, with YJIT if the run has it; rake stress takes longer.
RSpec.describe "Captures", :long do
  include_examples "a program that survives captures", 10

  context "when they break a promise" do
    include StressProgram

    before { skip "needs rake compile:testing" unless StressProgram.built? }

    { "allocate" => "an object was allocated", "collect" => "the GC started", "switch" => "threads were switched" }
      .each do |promise, message|
      it "are found out: #{message}" do
        err, status = stress(2, env: { "RPERF_PUSH_TESTING_BREAK" => promise })
        # In a capture at the end of a GC, Ruby itself may be the first to complain; and a thread that is switched to may allocate.
        others = promise == "switch" ? "an object was allocated inside a capture|" : ""
        expect(err).to match(/#{message} inside a capture|#{others}during garbage collection phase/)
        expect(status.termsig).to eq(Signal.list["ABRT"])
      end
    end
  end
end

RSpec.describe "Ticks at any instruction" do
  include StressProgram

  # The start of each program: a session whose ticks come at 5 kHz.
  session = <<~RUBY
    RperfPush.start(frequency: 1000, mode: :cpu)
    def for_seconds(seconds)
      finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      yield until Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
    end
  RUBY

  {
    "environments that move to the heap" => <<~'RUBY',
      def handle(text)
        text =~ /x/
        1.times { -> { text } }
      end
      for_seconds(3) { 100.times { handle("x") } }
    RUBY
    "closures of class bodies" => <<~'RUBY',
      for_seconds(3) do
        Class.new do
          "field" =~ /(\w)/
          define_method(:field) { |&block| block ? block.call($~) : -> { self } }
          20.times { new.field { |match| proc { match } }.call; new.field.call }
        end
      end
    RUBY
    "the GC inside another tool's hook for allocations" => <<~'RUBY'
      require "objspace"
      GC.auto_compact = true
      ObjectSpace.trace_object_allocations do
        for_seconds(3) { Array.new(500) { |i| { i => i.to_s } }.each { |one| one.transform_values(&:to_sym) } }
      end
    RUBY
  }.each do |title, code|
    it "harm nothing in #{title}" do
      env = { "RPERF_PUSH_TESTING_HZ" => "5000" }
      stats = on_testing_build("#{session}#{code}puts JSON.generate(RperfPush.stats)", env:)
      expect(stats).to include(captures_faulted: 0)
      expect(stats[:samples_captured]).to be > 200 # of 15,000 ticks; in a GC they sample nothing
    end
  end
end

RSpec.describe "Ordinary code at the ordinary rate" do
  include_examples "a program that an ordinary rate does not harm", 5
end

RSpec.describe "Forks while uploads are slow" do
  include_examples "a program whose forks all end well", 5
end
