# frozen_string_literal: true

require "securerandom"
require_relative "../support/working_process"

# A program that counts what it does and waits for locks, pushed and read back by the ids that the pages of the servers know.
# Needs `target`, and `total_of` an id.
RSpec.shared_examples "a backend that a counting program pushes to" do |backend|
  before(:all) do
    @run = SecureRandom.hex(6) # a server with a history must not matter
    @started = Time.now - 1
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => target.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1", "RPERF_PUSH_BACKEND" => backend,
                              "RPERF_PUSH_MODE" => "cpu,wall,contention", "RPERF_PUSH_TAGS" => "run=#{@run}")
    @app.run(<<~RUBY)
      RperfPush.declare(:bytes_sent, unit: "bytes")
      1000.times { |i| RperfPush.sample(i, name: :bytes_sent, endpoint: "GET /\#{i % 3}") }
      7.times { RperfPush.sample }
      lock = Mutex.new
      lock.lock
      waiter = Thread.new { lock.synchronize { RperfPush.sample } }
      Thread.pass until waiter.stop?
      sleep 0.3 + rand / 100
      lock.unlock
      waiter.join
      nil
    RUBY
    @flushed = @app.flush
    @stats = @app.end_profiling
  end

  after(:all) { @app&.stop }

  it "has each value under its own id, to the last one" do
    expect(@flushed).to be(true), @app.log
    expect(@stats).to include("payloads_delivered" => @stats["payloads_created"], "uploads_failed" => 0, "samples_refused" => 0)
    expect(total_of("custom:bytes_sent:bytes:custom:count")).to eq(999 * 1000 / 2)
    expect(total_of("custom:samples:count:custom:count")).to eq(8)
  end

  it "has the waits for locks, and how long they were" do
    expect(total_of("mutex:contentions:count:contentions:count")).to be_between(1, @stats["contentions_encoded"])
    expect(total_of("mutex:delay:nanoseconds:contentions:count")).to eq(@stats["delay_ns_encoded"])
    expect(@stats["delay_ns_encoded"]).to be > 290_000_000
  end
end
