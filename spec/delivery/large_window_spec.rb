# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "../support/pprof_profile"
require_relative "../support/fake_pyroscope/remote"
require_relative "../support/working_process"

RSpec.describe "A large window", :once, :waiting do
  def program(threads, lines, url)
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, File.expand_path("../support/large_window.rb", __dir__)]
    out, err, status = run_program([*command, threads.to_s, lines.to_s, url], timeout: 240)
    raise err unless status.success?

    [JSON.parse(out), err]
  end

  let(:fake_server) { FakePyroscope::Remote.new }

  after { fake_server.stop }

  it "of 40,000 samples arrives, in parts whose sums are the whole" do
    stats, = program(40, 1000, fake_server.url)
    parts = fake_server.accepted.sort_by(&:time_nanos)
    profiles = parts.map { |part| PprofProfile.from_message(part.profile) }

    expect(stats["samples_encoded"]).to be > 40_000
    expect(stats).to include("windows_closed" => 1, "samples_overflowed" => 0, "payloads_created" => parts.size,
                             "payloads_delivered" => parts.size, "payloads_unconfirmed" => 0)
    expect(parts.size).to be > 2
    expect(fake_server.violations).to eq([])
    expect(parts.map { |part| part.profile.sample.size }).to all be <= 15_000
    expect(parts.map(&:bytes)).to all be <= 1.9 * 1024 * 1024
    expect(parts.map(&:time_nanos).each_cons(2).map { |one, other| other - one }).to all eq(1_000_000)
    expect(parts.map(&:duration_nanos).uniq.size).to eq(1)
    expect([profiles.sum { |profile| profile.samples.size }, profiles.sum { |profile| profile.total("cpu") },
            profiles.sum { |profile| profile.total("wall") }])
      .to eq(stats.values_at("samples_encoded", "cpu_ns_encoded", "wall_ns_encoded"))
  end

  # What the server's own limits call too large stays too large.
  it "that the server calls too large is dropped after one try, and the next one is sent" do
    app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => fake_server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800")
    fake_server.fault(status: 429, message: "received message larger than max message size (5 vs. 4)")
    expect(app.run("RperfPush.flush(timeout: 30)")).to be(false)
    expect(app.stats).to include("payloads_dropped_rejected" => 1, "uploads_retried" => 0)
    expect(app.stats["last_error"]).to include("message size")

    fake_server.fault(status: 429, message: "slow down")
    expect(app.run("RperfPush.flush(timeout: 1)")).to be(false)
    wait_until("a try") { app.stats["uploads_retried"].positive? }
    fake_server.fault
    expect(app.run("RperfPush.flush(timeout: 40)")).to be(true)
    expect(app.stats).to include("payloads_dropped_rejected" => 1)
    expect(fake_server.received.map(&:status).tally).to include(200)
  ensure
    app&.stop
  end
end
