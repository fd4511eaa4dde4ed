# frozen_string_literal: true

require_relative "support/stress_program"

# What is done at every change of threads must stay small: a program may change them a hundred thousand times a second.
RSpec.describe "Hooks" do
  include StressProgram

  it "read CPU clocks as often as the budget pays for, however often threads change" do
    seen = on_testing_build(<<~RUBY)
      RperfPush.configure! do |config|
        config.application_name = "storm"
        config.backend = :directory
        config.directory = #{tmpdir.inspect}
      end
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Array.new(30) { Thread.new { 2_000.times { Thread.pass } } }.each(&:join)
      puts JSON.generate(seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - from,
                         readings: RperfPush::Native.cpu_clock_readings, captures: RperfPush.stats[:samples_captured])
    RUBY
    # One in 400 us; and each capture, each tick that comes early and each thread's end has its own.
    expect(seen[:readings]).to be_between(1, (seen[:seconds] * 2_500) + (seen[:captures] * 3) + 300)
  end
end
