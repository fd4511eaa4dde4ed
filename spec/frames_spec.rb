# frozen_string_literal: true

require_relative "support/stress_program"

# Methods have an id from their first capture until none came for three windows, through every growth of the table.
RSpec.describe "Frames" do
  include StressProgram

  it "keep their ids while there are more and more of them, and are forgotten when they are not seen any more" do
    seen = on_testing_build(<<~RUBY)
      METHODS = 20_000
      made = Class.new
      METHODS.times.each_slice(500) do |numbers|
        made.class_eval(numbers.map { |number| "def m\#{number} = RperfPush::Native.capture_often(1)" }.join("\\n"))
      end
      made = made.new
      meet = ->(numbers) { numbers.each { |number| made.__send__(:"m\#{number}") } }
      known = -> { RperfPush.stats[:frames_known] }

      RperfPush.start(frequency: 99, mode: :wall)
      METHODS.times.each_slice(500) do |numbers|
        meet.(numbers)
        sleep 0.001 until RperfPush.stats[:frames_unresolved].zero?
        meet.((0..numbers.last).step(7))
      end
      met = known.()
      names = RperfPush.snapshot[:aggregated_samples].flat_map { |frames,| frames.map(&:last) }.uniq
      windows = 0
      RperfPush.snapshot(clear: true) while known.() > 100 && (windows += 1) < 200
      puts JSON.generate(methods: METHODS, met:, names: names.grep(/\\bm\\d+\\z/).size, left: known.(), windows:)
    RUBY
    expect(seen[:met]).to be_between(seen[:methods], seen[:methods] + 50)
    expect(seen[:names]).to be > seen[:methods] * 0.95 # some may have come when the buffer was full
    expect(seen[:left]).to be <= 100
    expect(seen[:windows]).to be_between(20, 100)
  end
end
