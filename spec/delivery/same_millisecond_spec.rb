# frozen_string_literal: true

require "json"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope/remote"

# Storage of Pyroscope 1.x keeps one profile a millisecond and series, and answers 200 to the second. The figure for 10 processes
# is measured in spec/core/test_exporter.c; here is what forked workers do that start at once, end windows by flush, and end.
RSpec.describe "Forty processes that start at once", :once, :waiting do
  program = <<~RUBY
    barrier, open_barrier = IO.pipe
    reader, writer = IO.pipe
    children = Array.new(40) do
      fork do
        open_barrier.close
        barrier.read
        RperfPush.configure! do |config|
          config.application_name = "fleet"
          config.server_address = ENV.fetch("SERVER")
          config.upload_interval = 10
          config.shutdown_timeout = 60
        end
        started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        sleep 0.05 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < started + 6
        RperfPush.flush(timeout: 60)
        sleep 0.05 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < started + 12
        RperfPush.shutdown
        writer.puts JSON.generate(RperfPush.stats)
        exit!(true)
      end
    end
    sleep 1
    writer.close
    open_barrier.close
    puts reader.read
    children.each { |child| Process.wait(child) }
  RUBY

  it "have all but a few of their profiles stored where a millisecond has room for one" do
    fake_server = FakePyroscope::Remote.new("--rules", "v1")
    out, log, = run_ruby(program, env: { "SERVER" => fake_server.url }, arguments: ["-rjson"], timeout: 150)
    stats = out.lines.map { |line| JSON.parse(line) }
    expect(stats.size).to eq(40), log
    expect(stats.sum { |one| one["payloads_delivered"] }).to eq(stats.sum { |one| one["payloads_created"] }).and be >= 80

    met = fake_server.accepted.map { |one| one.time_nanos / 1_000_000 }.tally.values.sum { |count| count - 1 }
    stored = PyroscopeClient.new(fake_server.url).total(PyroscopeClient::WALL, "{}")
    encoded = stats.sum { |one| one["wall_ns_encoded"] }
    RSpec.configuration.reporter.message("#{met} of #{fake_server.accepted.size} profiles met another one, " \
                                         "#{(100.0 * stored / encoded).round(3)} % of the time is stored")
    expect(met).to be <= 9 # about one is expected; told the true time, dozens meet
    expect(stored).to be >= encoded * 0.9995 if met.zero?
  ensure
    fake_server&.stop
  end
end
