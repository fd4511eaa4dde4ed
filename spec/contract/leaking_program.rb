# frozen_string_literal: true

require "securerandom"
require_relative "../support/working_process"

# A program that leaks, pushed and read back by the ids that the pages of the servers know. A level is no sum: it has no duration.
# Needs `target`, and `total_of` an id.
RSpec.shared_examples "a backend that a leaking program pushes to" do |backend, delta|
  before(:all) do
    @run = SecureRandom.hex(6) # a server with a history must not matter
    @started = Time.now - 1
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => target.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1", "RPERF_PUSH_BACKEND" => backend,
                              "RPERF_PUSH_MODE" => "cpu,wall,alloc,heap", "RPERF_PUSH_FREQUENCY" => "250",
                              "RPERF_PUSH_OVERHEAD_LIMIT" => "1", "RPERF_PUSH_TAGS" => "run=#{@run}")
    @app.run(<<~RUBY)
      $leak = []
      finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 2
      100.times { $leak << Object.new } until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > finish
      2.times { GC.start }
      nil
    RUBY
    @flushed = @app.flush
    @stats = @app.end_profiling
  end

  after(:all) { @app&.stop }

  it "has allocations as sums" do
    expect(@flushed).to be(true), @app.log
    expect(@stats).to include("payloads_delivered" => @stats["payloads_created"], "uploads_failed" => 0, "heap_losses" => 0)
    expect(total_of("memory:alloc_objects:count:space:bytes#{delta}")).to eq(@stats["alloc_objects_encoded"])
    expect(total_of("memory:alloc_space:bytes:space:bytes#{delta}")).to eq(@stats["alloc_space_encoded"])
  end

  it "has what is in use as levels" do
    expect(@stats["inuse_objects_encoded"]).to be > 100_000
    expect(total_of("memory:inuse_objects:count:space:bytes")).to eq(@stats["inuse_objects_encoded"])
    expect(total_of("memory:inuse_space:bytes:space:bytes")).to eq(@stats["inuse_space_encoded"])
  end
end
