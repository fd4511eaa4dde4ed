# frozen_string_literal: true

require "json"
require_relative "support/stress_program"

# What is done at every change of threads must stay small: a program may change them a hundred thousand times a second.
RSpec.describe "Hooks" do
  include StressProgram

  before { skip "needs rake compile:testing" unless StressProgram.built? }

  it "read CPU clocks as often as the budget pays for, however often threads change" do
    out, err, status = run_program([RbConfig.ruby, "-I", StressProgram::TESTING_LIB, "-I", RubyProgram::LIB, "-e", <<~RUBY])
      require "json"
      require "rperf_push"

      RperfPush.configure! do |config|
        config.application_name = "storm"
        config.backend = :directory
        config.directory = #{tmpdir.inspect}
        config.frequency = 1000 # so that a hundred microseconds would be worth a reading
      end
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Array.new(30) { Thread.new { 2_000.times { Thread.pass } } }.each(&:join)
      puts JSON.generate(seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - from,
                         readings: RperfPush::Native.cpu_clock_readings, captures: RperfPush.stats[:samples_captured])
    RUBY
    expect(status).to be_success, err
    seen = JSON.parse(out, symbolize_names: true)
    # One in 400 us; and each capture, each tick that comes early and each thread's end has its own.
    expect(seen[:readings]).to be_between(1, (seen[:seconds] * 2_500) + (seen[:captures] * 3) + 300)
  end
end
