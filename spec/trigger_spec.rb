# frozen_string_literal: true

require_relative "support/stress_program"

# Whoever triggers a job from outside of Ruby has the context of a Ruby thread or fiber in hand. No GC may free it meanwhile.
RSpec.describe "Triggering a job", :interpreted, :quick do
  include StressProgram

  it "holds up the next GC" do
    out, err, status = run_on_testing_build(<<~RUBY, env: { "RPERF_PUSH_TESTING_SLOW_TRIGGER" => "1" })
      RperfPush.start(frequency: 1000, engine: :safepoint)
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 120
      collected = GC.count
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till && (RperfPush.stats[:ticks] < 50 || GC.count - collected < 50)
        Thread.new { Fiber.new { 1 }.resume }.join
        GC.start
      end
      puts GC.count - collected, RperfPush.stop[:trigger_count]
    RUBY
    expect(status).to be_success, "#{status.inspect}\n#{err.byteslice(0, 2000)}"
    expect(out.lines.map(&:to_i)).to all(be > 20)
  end
end
