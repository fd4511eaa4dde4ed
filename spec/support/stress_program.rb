# frozen_string_literal: true

require "json"
require_relative "helpers/ruby_program"

# The stress program in a process of its own, on the testing build: its captures are guarded, its ticks come at 5 kHz.
module StressProgram
  include RubyProgram

  ROOT = File.expand_path("../..", __dir__)
  PROGRAM = File.join(ROOT, "spec/stress/program.rb")
  TESTING_LIB = File.join(ROOT, "tmp/testing/lib")

  # Only what hangs takes so much longer than it should, also where many programs run at once.
  MAX_WAIT_SECONDS = 180

  def self.built? = File.exist?(File.join(TESTING_LIB, "rperf_push", RUBY_VERSION[/\d+\.\d+/], "rperf_push.so"))

  # Runs code on the testing build, at its usual rate unless the environment says another, with the profiler and JSON loaded.
  #
  # @return [Hash] what it printed as JSON
  def on_testing_build(code, env: {})
    out, err, status = run_on_testing_build(code, env:)
    expect(status).to be_success, err
    JSON.parse(out, symbolize_names: true)
  end

  # @return [Array(String, String, Process::Status)] stdout, stderr, status
  def run_on_testing_build(code, env: {})
    skip "needs rake compile:testing" unless StressProgram.built?
    run_program([RbConfig.ruby, "-I", TESTING_LIB, "-I", LIB, "-r", "json", "-r", "rperf_push", "-e", code], env:, timeout: MAX_WAIT_SECONDS)
  end

  # @return [Array(String, Process::Status)] what it said on standard error, how it ended
  # @yieldparam result [Hash] what it did: "counts" of acts, "stats" of the profiler; only if it ended well
  def stress(seconds, env: {}, arguments: [])
    command = [RbConfig.ruby, *arguments, "-I", TESTING_LIB, "-I", LIB, PROGRAM, seconds.to_s]
    out, err, status = run_program(command, env: { "RPERF_PUSH_TESTING_HZ" => "5000", **env }, timeout: (seconds * 3) + MAX_WAIT_SECONDS)
    yield JSON.parse(out.lines.last) if status.success?
    [err, status]
  end
end

# Whatever it met was survived, or its status would tell: it went on to its end, and captured all the way.
RSpec.shared_examples "a program that survives captures" do |seconds, env: {}, arguments: []|
  include StressProgram

  it "ends well after #{seconds} s" do
    skip "needs rake compile:testing" unless StressProgram.built?
    result = nil
    err, status = stress(seconds, env:, arguments:) { |it| result = it }
    expect(status).to be_success, "#{status.inspect}\n#{err.byteslice(0, 20_000)}"
    expect(result["stats"]["samples_captured"]).to be > seconds * 20 # on a third of a core, too
    expect(result["stats"]["windows_closed"]).to be > seconds / 10
    expect(result["counts"].size).to be >= 16
  end
end

RSpec.shared_examples "a program whose forks all end well" do |seconds|
  include RubyProgram

  it "ends well after #{seconds} s" do
    program = File.join(StressProgram::ROOT, "spec/stress/forking.rb")
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, program, seconds.to_s], timeout: seconds + StressProgram::MAX_WAIT_SECONDS)
    expect(status).to be_success, "#{status.inspect}\n#{err.byteslice(0, 20_000)}"
    result = JSON.parse(out.lines.last)
    expect(result["children"]).to be > seconds
    expect(result["stats"]).to include("running" => true, "payloads_dropped_retries" => 0, "log_lines_dropped" => 0)
    expect(result["stats"]["payloads_delivered"]).to be > 0
  end
end
