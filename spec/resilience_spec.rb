# frozen_string_literal: true

require "socket"
require_relative "../examples/support/shop_process"
require_relative "support/windows_in_a_row"
require_relative "support/pyroscope_client"
require_relative "support/fake_pyroscope/remote"
require_relative "support/working_process"

# A backend that is away, slow, refuses or loses answers: the application does not notice, the statistics tell, and what
# fits the queue arrives afterwards, once.
RSpec.describe "An unreliable backend", :once, :waiting, :long do
  let(:pyroscope) { FakePyroscope::Remote.new }
  let(:settings) { {} }
  let(:app) do
    WorkingProcess.new({ "RPERF_PUSH_SERVER_ADDRESS" => pyroscope.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "0.3",
                         "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "1" }.merge(settings))
  end

  after do
    app.kill
    pyroscope.stop
  end

  # Statistics, once they are as the block wants them.
  def wait_for_stats(what, timeout: 120)
    wait_until(what, timeout:, interval: 0.1) { app.stats.then { |stats| stats if yield stats } }
  end

  def delivered = app.stats["payloads_delivered"]

  # Nothing is sampled any more, all is sent: the books can be closed. On a busy machine the last window needs more than the
  # shutdown timeout of other examples.
  def close_books
    expect(app.flush(60)).to be(true), app.log
    app.run("RperfPush.shutdown(timeout: 60)")
    app.stats
  end

  def dropped(stats) = stats.sum { |name, count| name.start_with?("payloads_dropped_") ? count : 0 }

  def expect_all_delivered
    stats = close_books
    expect(stats).to include("payloads_delivered" => stats["payloads_created"])
    expect_all_there(stats)
  end

  # What the server has is what was encoded, and each window once.
  def expect_all_there(stats, kept: pyroscope.accepted)
    expect(kept.map(&:time_nanos).uniq.size).to eq(kept.size)
    sums = [PyroscopeClient::CPU, PyroscopeClient::WALL].map { |type| PyroscopeClient.new(pyroscope.url).total(type, "{}") }
    expect(sums).to eq(stats.values_at("cpu_ns_encoded", "wall_ns_encoded"))
  end

  def expect_windows_in_a_row(kept)
    expect(WindowsInARow).to be_possible(kept)
  end

  it "may be down from the start: everything arrives once it is there" do
    pyroscope.fault(down: "refuse")
    stats = wait_for_stats("windows that wait") { |now| now["queue_payloads"] >= 3 && now["uploads_retried"] >= 2 }
    expect(stats).to include("payloads_delivered" => 0, "uploads_ok" => 0, "uploads_failed_4xx" => 0, "uploads_failed_5xx" => 0)
    expect(stats["uploads_failed_connect"]).to be >= 2
    expect(stats["last_error"]).to match(/connect|refused/i)
    expect(stats["last_error_at_ns"]).to be_within(20e9).of(Time.now.to_i * 1_000_000_000)
    expect(app.run("RperfPush.flush(timeout: 0.3)")).to be(false)
    expect(app.slowest_request).to be < 10

    pyroscope.fault
    stats = close_books
    expect(dropped(stats)).to eq(0)
    expect(stats["payloads_delivered"]).to eq(stats["payloads_created"])
    expect_all_there(stats)
    expect_windows_in_a_row(pyroscope.accepted)
    expect(app.log.lines).to match([/upload to pyroscope failed: .*trying again$/, /uploads to pyroscope work again, after \d+ failed/])
  end

  { 429 => "uploads_failed_4xx", 503 => "uploads_failed_5xx" }.each do |status, counter|
    it "may answer #{status}: what was refused is sent again" do
      pyroscope.fault(status:, message: "come back later")
      stats = wait_for_stats("refusals") { |now| now[counter] >= 2 && now["queue_payloads"] >= 3 }
      expect(stats).to include("payloads_delivered" => 0, "uploads_retried" => stats[counter], "uploads_failed" => 0)
      expect(stats["last_error"]).to match(/#{status}.*come back later/)
      expect(app.slowest_request).to be < 10

      pyroscope.fault
      expect_all_delivered
    end
  end

  it "may ask for time with Retry-After: it is left alone until then" do
    pyroscope.fault(status: 429, retry_after: 3)
    wait_for_stats("a second refusal") { |now| now["uploads_failed_4xx"] >= 2 }
    first, second = pyroscope.received.map(&:at)
    expect(second - first).to be_between(2.9, 30)
    pyroscope.fault
    expect_all_there(close_books)
  end

  it "may answer 500 for a while: what was refused is sent again" do
    pyroscope.fault(status: 500)
    stats = wait_for_stats("windows that wait") { |now| now["uploads_failed_5xx"] >= 1 && now["queue_payloads"] >= 5 }
    expect(stats).to include("payloads_delivered" => 0, "uploads_failed" => 0)
    expect(app.slowest_request).to be < 10

    pyroscope.fault
    expect_all_delivered
  end

  # It may be the profile that breaks the server. Each flush is worth a try.
  it "may answer 500 for some seconds: windows take turns at being tried, and none is given up" do
    pyroscope.fault(status: 500)
    wait_for_stats("a refusal") { |now| now["uploads_retried"] >= 1 }
    2.times { expect(app.run("RperfPush.flush(timeout: 0.2)")).to be(false) }
    expect(app.stats).to include("payloads_dropped_retries" => 0)

    pyroscope.fault
    stats = close_books
    expect(dropped(stats)).to eq(0)
    expect(stats["payloads_delivered"]).to eq(stats["payloads_created"])
    expect(pyroscope.accepted.map(&:time_nanos).uniq.size).to eq(stats["payloads_delivered"])
  end

  context "with much time" do
    let(:settings) { { "RPERF_PUSH_UPLOAD_TIMEOUT" => "60" } }

    it "may take 20 s for an answer: nobody waits, nothing is lost or sent twice" do
      pyroscope.fault(delay: 20)
      app.slowest_request
      wait_until("a request") { pyroscope.requests >= 1 }
      expect(app.run("started = now; [RperfPush.flush(timeout: 1), now - started]")).to match([false, be_between(1, 15)])
      stats = wait_for_stats("windows that wait") { |now| now["queue_payloads"] >= 3 }
      expect(stats).to include("payloads_delivered" => 0, "uploads_retried" => 0, "uploads_failed" => 0)
      expect(app.slowest_request).to be < 15

      pyroscope.fault
      stats = close_books
      expect(stats).to include("payloads_delivered" => stats["payloads_created"], "payloads_unconfirmed" => 0)
      expect_all_there(stats)
    end
  end

  context "with little time" do
    let(:settings) { { "RPERF_PUSH_UPLOAD_TIMEOUT" => "0.5" } }

    it "may store and answer too late: unconfirmed, and not sent again" do
      pyroscope.fault(delay: 2)
      stats = wait_for_stats("an answer that did not come") { |now| now["payloads_unconfirmed"] >= 2 }
      expect(stats["uploads_failed_timeout"]).to be >= 2
      expect(stats["last_error"]).to match(/no answer|time/i)

      pyroscope.fault
      wait_for_stats("deliveries") { |now| now["payloads_delivered"] >= 2 }
      wait_until("all to be answered in time") { app.flush }
      app.run("RperfPush.shutdown(timeout: 60)")
      stats = app.stats
      expect(stats["payloads_delivered"] + stats["payloads_unconfirmed"]).to eq(stats["payloads_created"])
      expect_all_there(stats)
    end
  end

  it "may store and answer 504: unconfirmed, and not counted twice" do
    pyroscope.fault(status: 504)
    stats = wait_for_stats("answers that tell nothing") { |now| now["payloads_unconfirmed"] >= 2 }
    expect(stats).to include("uploads_retried" => 0, "payloads_delivered" => 0)

    pyroscope.fault
    wait_for_stats("a delivery") { |now| now["payloads_delivered"] >= 1 }
    stats = close_books
    expect(stats["payloads_delivered"] + stats["payloads_unconfirmed"]).to eq(stats["payloads_created"])
    expect_all_there(stats)
  end

  # A server that is killed has stored nothing. A proxy that dies when the server behind it has stored the profile looks the same.
  it "may die at a request: what it had not stored is sent again" do
    pyroscope.fault(lost_request: true)
    stats = wait_for_stats("requests that met nobody") { |now| now["payloads_resent_after_close"] >= 2 }
    expect(stats["payloads_delivered"]).to eq(0)

    pyroscope.fault
    expect_all_delivered
  end

  context "with a small queue" do
    let(:settings) { { "RPERF_PUSH_QUEUE_MAX_BYTES" => "3000" } }

    it "may be away for long: the oldest windows make room, and are counted" do
      pyroscope.fault(down: "refuse")
      stats = wait_for_stats("a full queue") { |now| now["payloads_dropped_queue_full"] >= 3 }
      expect(stats["queue_bytes"]).to be_between(1, 3000)

      pyroscope.fault
      app.flush # false if the window that it closes pushes another one out
      stats = close_books
      expect(dropped(stats)).to eq(stats["payloads_dropped_queue_full"])
      expect(stats["payloads_delivered"] + dropped(stats)).to eq(stats["payloads_created"])
      expect(pyroscope.accepted.map(&:time_nanos).uniq.size).to eq(stats["payloads_delivered"])
    end
  end

  context "when the program ends" do
    let(:settings) { { "RPERF_PUSH_UPLOAD_TIMEOUT" => "60" } }

    it "may hang: the exit takes the shutdown timeout and no more, and says what was lost" do
      pyroscope.fault(delay: 60)
      wait_for_stats("windows that wait") { |now| now["queue_payloads"] >= 2 }
      expect(app.stop).to be_between(0.9, 20)
      expect(app.log).to match(/the shutdown timeout of 1\.0 s passed before all was sent; profiles lost: \d+; last error: .*127\.0\.0\.1.*$/)
    end

    it "may not even take the connection" do
      backlog = TCPServer.new("127.0.0.1", 0).tap { |server| server.listen(1) }
      app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => "http://127.0.0.1:#{backlog.addr[1]}",
                               "RPERF_PUSH_UPLOAD_INTERVAL" => "0.3", "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "1", "RPERF_PUSH_UPLOAD_TIMEOUT" => "60")
      wait_until("windows that wait") { app.stats["queue_payloads"] >= 2 }
      expect(app.stop).to be_between(0.9, 20)
    ensure
      app&.kill
      backlog&.close
    end

    context "with time for it" do
      let(:settings) { { "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "60" } }

      it "has the rest before the program is gone" do
        wait_for_stats("a window") { |now| now["payloads_delivered"] >= 1 }
        before = pyroscope.accepted.size
        app.run("RperfPush.label(endpoint: 'last') { sleep 0.1 }") # an event of its own, not left to chance
        expect(app.stop).to be < 50
        expect(pyroscope.accepted.size).to be > before
        expect(PyroscopeClient.new(pyroscope.url).label_values("endpoint")).to include("last")
        expect(app.log).to eq("")
      end
    end
  end
end

# The shop and its twin without a profiler serve by turns, so that what else the machine does hurts both.
RSpec.describe "A shop whose backend" do
  before(:all) do
    @pyroscope = FakePyroscope::Remote.new
    @pyroscope.fault(down: "refuse")
    @shops = [{ "RPERF_PUSH_ENABLED" => "false" },
              { "RPERF_PUSH_SERVER_ADDRESS" => @pyroscope.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "0.5" }]
             .map { |env| ShopProcess.new(env) }
  end

  after(:all) do
    @pyroscope.fault
    @shops.each(&:stop)
    @pyroscope.stop
  end

  def enough?(rounds)
    without, with = rounds.transpose.map { |runs| runs.sum { |run| run[:requests] } }
    with > 0.5 * without
  end

  # A round of each
  def serve = @shops.map { |shop| shop.serve(seconds: 0.8, clients: 8) }

  { "is down" => { down: "refuse" }, "takes 5 s for each answer" => { delay: 5 }, "answers 429" => { status: 429 },
    "answers 500" => { status: 500 } }.each do |what, fault|
    it "#{what} serves as many requests as without a profiler", :measures do
      @pyroscope.fault(**fault)
      rounds = [serve]
      # A round may be unlucky with the rest of the machine. A profiler that makes requests wait would do so in all of them.
      rounds << serve until rounds.size == 10 || enough?(rounds)
      expect(rounds.flatten).to all(include(errors: 0))
      expect(rounds.map { |_, with| with[:p99_ms] }.max).to be < 4000
      expect(enough?(rounds)).to be(true), rounds.inspect
    end
  end
end
