# frozen_string_literal: true

require "json"
require_relative "stress_program"

# Ordinary code at the ordinary rate, in a process of its own.
RSpec.shared_examples "a program that an ordinary rate does not harm" do |seconds, env: {}|
  include RubyProgram

  it "ends well after #{seconds} s" do
    program = File.join(StressProgram::ROOT, "spec/stress/soak.rb")
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, program, seconds.to_s], env:, timeout: (seconds * 2) + StressProgram::MAX_WAIT_SECONDS)
    expect(status).to be_success, "#{status.inspect}\n#{err.byteslice(0, 20_000)}"
    stats = JSON.parse(out.lines.last)["stats"]
    expect(stats).to include("engine" => "signal", "captures_faulted" => 0)
    expect(stats["samples_captured"]).to be > seconds * 10
  end
end
