# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "../support/fake_pyroscope/remote"

RSpec.describe "200 processes that start at once", :once, :waiting, :alone do
  count = 200
  interval = 6.0

  before(:all) do
    fake_server = FakePyroscope::Remote.new("--rate", "1e9")
    program = File.expand_path("../support/fleet.rb", __dir__)
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, program, count.to_s, interval.to_s, (3.2 * interval).to_s, fake_server.url]
    out, err, status = Class.new { include RubyProgram }.new.run_program(command, timeout: 300)
    raise err unless status.success?

    @starts = JSON.parse(out)
    @arrivals = fake_server.received.group_by { |one| one.labels.to_h.fetch("member") }.transform_values { |all| all.map { |one| one.at.to_f }.sort }
  ensure
    fake_server&.stop
  end

  # How many came in each tenth of the interval after the first start. To start takes all of them some seconds of few cores: what was due
  # meanwhile comes together afterwards, and a process's next window begins where the one before has ended. If they did not draw when
  # to begin, all would be in one tenth.
  def tenths(times, interval)
    counts = Array.new(10, 0)
    times.each { |time| counts[((time - @starts.min) % interval / interval * 10).floor] += 1 }
    counts
  end

  it "do start at once, and all are heard", :measures do
    expect(@starts.size).to eq(count)
    expect(@starts.max - @starts.min).to be < interval * 0.4
    expect(@arrivals.size).to eq(count)
    expect(@arrivals.values.map(&:size)).to all be_between(2, 5)
  end

  it "send their first windows over the whole interval", :measures do
    firsts = tenths(@arrivals.values.map(&:first), interval)
    expect(firsts.max).to be < count / 2, firsts.inspect
    expect(firsts.count { |number| number > count / 50 }).to be >= 6, firsts.inspect
  end

  it "go on so", :measures do
    seconds = tenths(@arrivals.values.map { |times| times[1] }, interval)
    expect(seconds.max).to be < count / 2, seconds.inspect
    expect(seconds.count { |number| number > count / 50 }).to be >= 6, seconds.inspect
  end

  it "never crowd into a moment", :measures do
    moments = @arrivals.values.flatten.group_by { |time| (time * 10).floor }.values.map(&:size)
    expect(moments.max).to be < count / 5
  end
end
