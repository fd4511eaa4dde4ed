# frozen_string_literal: true

require_relative "exactness_run"
require_relative "windows_in_a_row"

# What holds whatever goes wrong, of a run in @run.
RSpec.shared_examples "exact delivery" do
  after(:all) { RSpec.configuration.reporter.message(@run.summary) }

  it "stores no window twice" do
    twice = @run.windows.select { |window| window.times_stored > 1 }
    expect(twice).to be_empty, twice.map { |window| [window.worker, *@run.story_of(window)].join("\n  ") }.join("\n")
  end

  it "ends every payload as exactly one thing" do
    @run.accounts.each do |account|
      expect(account.closed).to eq(account[:windows_closed] - account[:windows_empty])
      expect(account.closed + account[:payloads_unspooled]).to eq(account.ended + account[:payloads_spooled]), account.stats.inspect
      expect(account.stats.slice("queue_payloads", "encode_failures", "spool_errors").values).to all eq(0)
    end
  end

  it "has met faults of several kinds" do
    expect(@run.faults.size).to be > 2
    expect(@run.accounts.sum { |account| account[:uploads_retried] }).to be > 0
    expect(@run.accounts.sum { |account| account[:payloads_delivered] }).to be > @run.accounts.size
  end
end

# @param seconds [Integer]
RSpec.shared_examples "windows that arrive once or are counted" do |seconds|
  before(:all) { @run = ExactnessRun.new(seconds:, seed: RSpec.configuration.seed).run }

  include_examples "exact delivery"

  it "loses only what is counted" do
    @run.accounts.each do |account|
      missing = account.closed - account.windows.size
      expect(account.windows.size).to be <= account.closed
      expect(account.stored.size).to be_between(account[:payloads_delivered], account[:payloads_delivered] + account[:payloads_unconfirmed])
      expect(missing).to be <= account[:payloads_unconfirmed] + account.dropped
      expect(account.closed - account.stored.size).to be <= account[:payloads_unconfirmed] + account.dropped
    end
  end

  it "brings the sums, to the nanosecond" do
    whole = @run.accounts.select { |account| account.windows.size == account.closed }
    expect(whole).not_to be_empty
    whole.each do |account|
      expect([account.sum(:cpu), account.sum(:wall), account.windows.sum(&:samples)])
        .to eq([account[:cpu_ns_encoded], account[:wall_ns_encoded], account[:samples_encoded]])
    end
  end

  it "has windows that meet without gap or overlap" do
    whole = @run.accounts.select { |account| account.windows.size == account.closed && account[:windows_empty].zero? }
    expect(whole.map(&:windows)).to all(satisfy { |windows| WindowsInARow.possible?(windows) })
  end
end

# @param seconds [Integer]
RSpec.shared_examples "windows that outlive their processes" do |seconds|
  before(:all) do
    @spool = Dir.mktmpdir("rperf-push-")
    @run = ExactnessRun.new(seconds:, seed: RSpec.configuration.seed, spool: @spool, kill: true).run
  end

  after(:all) { FileUtils.rm_rf(@spool) }

  include_examples "exact delivery"

  it "leaves nothing on disk" do
    expect(@run.killed).not_to be_empty
    expect(@run.accounts.sum { |account| account[:payloads_spooled] }).to be > 0
    expect(Dir.children(@spool)).to eq([])
  end

  it "has dropped nothing" do
    expect(@run.accounts.sum { |account| account[:payloads_dropped_shutdown] + account[:payloads_dropped_damaged] }).to eq(0)
  end
end
