# frozen_string_literal: true

require_relative "../support/fault_stage"
require_relative "../support/working_process"

# The page that tells users what becomes of a profile is the list of what is expected here. One application goes through all
# of it, in any order.
RSpec.describe "Each fault that docs/delivery.md lists:", :once, :waiting do
  page = File.read(File.expand_path("../../docs/delivery.md", __dir__))
  rows = page[/^## Every fault.*?(?=^## )/m].lines.grep(/^\|/).drop(2).to_h do |line|
    name, fate, *cells = line.delete_prefix("|").split("|").map(&:strip)
    [name, [fate, *cells]]
  end

  # What becomes of the profile => the number that counts it
  fates = { "again" => "uploads_retried", "dropped" => "payloads_dropped_rejected", "unconfirmed" => "payloads_unconfirmed",
            "delivered" => "payloads_delivered" }.freeze
  reasons = %w[connect timeout 4xx 5xx].map { |reason| "uploads_failed_#{reason}" }.freeze
  log_words = { "HOST" => "\\S+", "S" => "[\\d.]+", "…" => ".*" }.freeze

  before(:all) do
    @stage = FaultStage.new
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => @stage.server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800")
    @app.run("RperfPush.flush")
    @memory = app.most_memory
  end

  after(:all) do
    @app&.kill
    @stage&.stop
  end

  attr_reader :app, :stage

  # What was counted, logged and taken before it has nothing to do with what comes after.
  def configure(fault, **settings)
    app.run("RperfPush.shutdown") # what is left shall not meet the new fault
    app.configure(upload_interval: 1800, shutdown_timeout: FaultStage::SCENES.fetch(fault).mends ? 10 : 0.2, **stage.set(fault), **settings)
    @before = app.stats
    @log_before = app.log.size
    @taken_before = stage.server.taken.size
  end

  # Since the last configuration
  def counted = app.stats.to_h { |name, value| [name, value.is_a?(Integer) ? value - @before[name].to_i : value] }
  def logged = app.log[@log_before..].lines(chomp: true)
  def taken = stage.server.taken.drop(@taken_before)

  def wait_for(counter)
    wait_until(counter) { counted.then { |now| now if now[counter].positive? } }
  end

  it "the list is whole" do
    expect(rows.keys).to match_array(FaultStage::SCENES.keys)
    expect(rows.values.map(&:first).uniq).to match_array(fates.keys)
  end

  rows.each do |name, (fate, reason, line)|
    scene = FaultStage::SCENES.fetch(name)
    reason = [reason.delete("`")] & reasons
    line = Regexp.escape(line).gsub(/\b(?:HOST|S)\b|…/, log_words)
    ended = %w[dropped unconfirmed].include?(fate) ? 1 : 0

    it "#{name}: #{fate}" do
      configure(name)
      app.flush(0.1)
      stats = wait_for(fates[fate])
      expect(reasons.select { |counter| stats[counter].positive? }).to eq(reason)
      expect(stats).to include("payloads_created" => 1, "uploads_failed" => ended)
      expect(fates.values.drop(1).sum { |counter| stats[counter] }).to eq(fate == "again" ? 0 : 1)
      if fate == "delivered"
        expect(logged).to eq([])
      else
        wait_until("a line in the log") { logged.any? }
        expect(logged.first).to match(/\A\[rperf-push\] upload to pyroscope failed: #{line}\z/)
      end

      before = app.run("$requests")
      wait_until("the application at work") { app.run("$requests") > before }

      stage.mend
      if scene.mends # then what is sent again arrives, and so does the next one, each once
        expect(app.flush(40)).to be(true), app.log
        expect(counted).to include("payloads_created" => 2, "payloads_delivered" => 2 - ended)
        expect(taken.map(&:body).uniq.size).to eq(taken.size)
        expect(taken.size).to eq(fate == "again" ? 2 : 1)
      end
      expect(stage.other.taken).to eq([])
    ensure
      stage.mend
    end
  end

  # Without a flush, which is somebody's wish to have it sent at once.
  ["status 429 with Retry-After in seconds", "status 503 with Retry-After as a date"].each do |name|
    it "#{name}: not before" do
      configure(name)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      app.flush(0.1)
      wait_for("uploads_retried")
      stage.server.answer
      wait_for("payloads_delivered")
      expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began).to be_between(2.9, 60)
    ensure
      stage.mend
    end
  end

  # A second is what the libcurl of the uploader gets to let go.
  ["nothing listens there", "nobody takes the connection", "it hangs before the answer", "it writes one byte a second",
   "status 500", "status 429 with Retry-After in seconds"].each do |name|
    it "#{name}: the shutdown takes no longer than shutdown_timeout" do
      configure(name, upload_timeout: 60, shutdown_timeout: 1)
      app.flush(0.05)
      took = app.run("started = now; RperfPush.shutdown; now - started")
      expect(took).to be < 20
      stats = counted
      expect(stats.values_at("payloads_unconfirmed", "payloads_dropped_shutdown", "payloads_dropped_retries").sum).to eq(stats["payloads_created"])
      lost = /the shutdown (?:timeout of 1\.0 s passed|ended) before all was sent.*; profiles lost: \d+(?:; last error: .+)?\z/
      unconfirmed = /; it may have been stored and is not sent again\z/ # its own deadline or the shutdown's: both come at once
      wait_until("the line") { logged.grep(/#{lost}|#{unconfirmed}/).any? }
    ensure
      stage.mend
    end
  end

  it "a server that is not there is no reason to wait at the end" do
    configure("nothing listens there", shutdown_timeout: 600)
    app.flush(0.05)
    expect(app.run("started = now; RperfPush.shutdown; now - started")).to be < 60
    expect(counted["payloads_dropped_shutdown"]).to eq(counted["payloads_created"])
    wait_until("the line") { logged.grep(/the shutdown ended before all was sent \(could not connect to \S+: Connection refused\); profiles lost: \d+\z/).any? }
  end

  it "all of them together neither take memory nor hold up the application" do
    FaultStage::SCENES.keys.grep(/1 GB/).each do |name|
      configure(name)
      app.flush(20)
      stage.mend
    end
    expect(app.most_memory - @memory).to be < 64
    expect(app.slowest_request).to be < 5
  end
end
