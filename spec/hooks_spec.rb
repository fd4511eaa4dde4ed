# frozen_string_literal: true

require_relative "support/stress_program"

# What is done at every change of threads must stay small: a program may change them a hundred thousand times a second.
RSpec.describe "Hooks", :interpreted, :short, :quick do
  include StressProgram

  it "read CPU clocks at one in sixteen short waits, however often threads change" do
    seen = on_testing_build(<<~RUBY)
      RperfPush.configure! do |config|
        config.application_name = "storm"
        config.backend = :directory
        config.directory = #{tmpdir.inspect}
      end
      Array.new(30) { Thread.new { 2_000.times { Thread.pass } } }.each(&:join)
      puts JSON.generate(readings: RperfPush::Native.cpu_clock_readings, captures: RperfPush.stats[:samples_captured])
    RUBY
    # Both ends of one wait in sixteen: 7,500. Each capture, each tick that comes early and each thread's end has its own, and on a busy
    # machine each stretch in which the thread lost its core. All ends of all waits were 120,000.
    expect(seen[:readings]).to be_between(1, 30 * 2_000 / 2)
  end
end
