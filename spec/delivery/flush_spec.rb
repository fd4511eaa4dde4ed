# frozen_string_literal: true

require_relative "../support/pprof_profile"

# Many threads are flushed in batches, so the end of a window takes a while, and a flush may come in the middle of it.
RSpec.describe "RperfPush.flush", :once, :waiting do
  it "cuts a window at the call, also while another one is being flushed" do
    out, err, status = run_ruby(<<~'RUBY', env: { "FOLDER" => tmpdir }, timeout: 180)
      threads = Array.new(2000) { Thread.new { sleep } }
      Thread.pass until threads.all?(&:stop?)
      RperfPush.configure! do |config|
        config.backend, config.directory, config.upload_interval, config.overhead_limit = :directory, ENV.fetch("FOLDER"), 1, 1
      end
      now = ->(clock) { Process.clock_gettime(clock, :nanosecond) }
      4.times do
        due = now.(Process::CLOCK_MONOTONIC) + 1_030_000_000
        nil until now.(Process::CLOCK_MONOTONIC) > due
        asked = now.(Process::CLOCK_REALTIME)
        RperfPush.flush(timeout: 60) or abort("the flush failed")
        puts "#{asked} #{now.(Process::CLOCK_REALTIME)}"
      end
    RUBY
    expect(status).to be_success, err
    ends = Dir["#{tmpdir}/*"].map { |path| PprofProfile.read(path).then { |read| read.time_nanos + read.duration_nanos } }
    calls = out.lines.map { |line| line.split.map(&:to_i) }
    expect(calls.size).to eq(4)
    slewed = 6_000_000 # the realtime clock in ten seconds, at most
    expect(calls).to all(satisfy { |asked, answered| ends.any? { |time| time.between?(asked - slewed, answered + slewed) } })
  end
end
