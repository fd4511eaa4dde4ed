# frozen_string_literal: true

require "json"
require_relative "support/stress_program"

# Methods have an id from their first capture until none came for three windows, through every growth of the table.
RSpec.describe "Frames", :interpreted do
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
    expect(seen[:names]).to be > seen[:methods] * 0.8 # some may have come when the buffer was full
    expect(seen[:left]).to be <= 100
    expect(seen[:windows]).to be_between(3, 5)
  end

  it "are met again after there were more than the table takes" do
    seen = on_testing_build(<<~RUBY)
      METHODS = 70_000
      DEPTH = 400 # at most this many are met at once
      made = Class.new
      METHODS.times.each_slice(500) do |numbers|
        made.class_eval(numbers.map do |number|
          next_one = number % DEPTH == DEPTH - 1 ? "RperfPush::Native.capture_often(1)" : "m\#{number + 1}"
          "def m\#{number} = \#{next_one}"
        end.join("\\n"))
      end
      made = made.new
      meet = lambda do |number|
        made.__send__(:"m\#{number}")
        sleep 0.001 until RperfPush.stats[:frames_unresolved].zero?
      end
      names = -> { RperfPush.snapshot(clear: true)[:aggregated_samples].flat_map { |frames,| frames.map(&:last) }.uniq }

      RperfPush.start(frequency: 99, mode: :wall)
      0.step(METHODS - DEPTH, DEPTH) { |number| meet.(number) }
      full = RperfPush.stats[:frames_known]
      overflow = names.().include?("(overflow)")
      4.times { names.() }
      (METHODS - DEPTH).step(0, -DEPTH).first(100).each(&meet)
      again = names.()
      puts JSON.generate(full:, overflow:, again: again.grep(/\\bm\\d+\\z/).size, overflow_again: again.include?("(overflow)"))
    RUBY
    expect(seen).to eq(full: 65_536, overflow: true, again: 40_000, overflow_again: false)
  end
end

RSpec.describe "Frames that a session which has ended may still read" do
  include StressProgram

  it "are kept until it has" do
    seen = on_testing_build(<<~RUBY)
      RperfPush.start(frequency: 1000)
      def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      def burn = (stop = cpu + 0.003; nil while cpu < stop)
      def known = (8.times { burn; RperfPush.snapshot(clear: true) }; RperfPush.stats[:frames_known])
      200.times { |i| eval("def once\#{i} = burn; once\#{i}") }
      RperfPush.snapshot(clear: true)
      all = RperfPush.stats[:frames_known]
      puts JSON.generate(all:, held: RperfPush::Native.read_names { known }, after: known)
    RUBY
    expect(seen[:all]).to be > 30
    expect(seen[:held]).to be >= seen[:all]
    expect(seen[:after]).to be < 30
  end
end

# However many are new in each window: those that came for three windows no more, and the objects that they hold, are gone by the
# fifth.
RSpec.describe "Frames of methods that are never called again" do
  include RubyProgram

  windows = 10

  {
    "extended" => "objects that modules are mixed into",
    "with_singleton_methods" => "singleton methods",
    "of_a_new_class" => "classes that are made",
    "evaluated" => "code that is evaluated",
    "reloaded" => "classes that are loaded again"
  }.each do |kind, title|
    it "are let go of as fast as they come: #{title}" do
      program = File.join(__dir__, "support/making_frames.rb")
      out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, program, kind, windows.to_s], timeout: 180)
      expect(status).to be_success, err
      seen = JSON.parse(out, symbolize_names: true)
      last = seen[:windows].last
      requests = last[:made] - seen[:windows][-6][:made]
      frames_in_a_request = 30
      expect(last[:known]).to be <= (requests * frames_in_a_request) + 200
      expect(last[:alive]).to be <= requests + 50
      expect(seen[:rest]).to include(known: be < 100, alive: be < 50)
    end
  end
end
