# frozen_string_literal: true

require_relative "support/stress_program"

# A tick that is taken later than at its instant finds the code of later. The testing build counts such ticks by method.
RSpec.describe "Ticks that cannot be taken at their instants", :interpreted do
  include StressProgram

  # Nothing in it comes to a safepoint, for milliseconds. Ends when the method has so many ticks that the block likes.
  def ticks_of_sort(enough, env: {})
    on_testing_build(<<~RUBY, env: { "RPERF_PUSH_TESTING_HZ" => "1000", **env })[:"Array#sort"]
      RperfPush.start(frequency: 99, mode: :cpu, engine: :signal)
      list = Array.new(100_000) { |i| i * 7_919 % 100_003 }
      count = -> { RperfPush::Native.ticks_by_method["Array#sort"] || [0, 0, 0] }
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
      list.sort until (ticks, deferred, late = count.call) && #{enough} || Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
      puts JSON.generate(RperfPush::Native.ticks_by_method)
    RUBY
  end

  it "are counted at the method that is found instead" do
    ticks, deferred, late = ticks_of_sort("late > 5", env: { "RPERF_PUSH_TESTING_BREAK" => "fault" })
    expect([ticks, deferred, late]).to match([be > 5, ticks, be > 5]) # no handler can walk a stack: a job does, after the sort
  end

  it "are few" do
    ticks, deferred, late = ticks_of_sort("ticks > 50")
    expect([ticks, deferred, late]).to match([be > 50, be < ticks * 0.2, be <= deferred])
  end
end
