# frozen_string_literal: true

require "fileutils"
require_relative "../support/fake_pyroscope/remote"
require_relative "../support/working_process"

# What waits on disk, in programs that run. How disks and other people's files may misbehave is in spec/core/test_spool.c.
RSpec.describe "A spool", :once, :waiting do
  let(:folder) { "#{tmpdir}/deep/spool" }
  let(:fake_server) { FakePyroscope::Remote.new }

  def app(worker)
    working_process("SERVER_ADDRESS" => fake_server.url, "UPLOAD_INTERVAL" => "0.2", "SPOOL_DIRECTORY" => folder, "TAGS" => "worker=#{worker}")
  end

  after { fake_server.stop }

  include_context "with working processes"

  # But for one that a process was killed while writing.
  def files = Dir["#{folder}/*"].grep_v(/\.writing\z/)

  def wait_for_stats(app, what) = wait_until(what, timeout: 120, interval: 0.05) { app.stats.then { |stats| stats if yield stats } }

  # In the order in which they were taken.
  def arrived(worker) = fake_server.accepted.select { |one| one.labels.include?(["worker", worker]) }

  def sum(received) = received.sum { |one| one.profile.sample.sum { |sample| sample.value.first } }

  it "keeps what a process that is killed had to say for another one, the oldest first, and for nobody else to read" do
    fake_server.fault(down: "refuse")
    killed = app("killed")
    wait_for_stats(killed, "files") { |stats| stats["payloads_spooled"] >= 5 }
    Process.kill(:KILL, killed.pid)
    killed.stop
    left = files
    expect(left.size).to be >= 5
    expect(left.map { |path| File.stat(path).mode & 0o777 }).to all eq(0o600)
    expect([folder, File.dirname(folder)].map { |path| File.stat(path).mode & 0o777 }).to all eq(0o700)

    File.truncate(left.grep(/\.ready\z/).max, 50)
    File.write("#{folder}/notes.txt", "mine")
    fake_server.fault
    heir = app("heir")
    stats = wait_for_stats(heir, "an empty spool") { |now| now["payloads_unspooled"] >= left.size }
    wait_until("nothing else in the spool", timeout: 120) { files == ["#{folder}/notes.txt"] } # the heir has windows of its own
    expect(arrived("killed").size + stats["payloads_unconfirmed"]).to eq(left.size - 1)
    expect(stats).to include("payloads_dropped_damaged" => 1, "payloads_unconfirmed" => be <= 1, "payloads_dropped_too_old" => 0)
    times = arrived("killed").map(&:time_nanos)
    expect(times).to match_array(times.uniq)
    expect(times.each_with_index.map { |time, place| (times.sort.index(time) - place).abs }).to all be < 8 # so many are under way at once
  end

  it "outlasts an outage: all arrives, in order and once, when the server is back" do
    fake_server.fault(down: "refuse")
    one = app("one")
    wait_for_stats(one, "files") { |stats| stats["payloads_spooled"] >= 8 }
    expect(one.stats).to include("queue_payloads" => be <= 2, "spool_files" => be >= 7, "spool_bytes" => be_positive)

    fake_server.fault
    expect(one.run("RperfPush.flush(timeout: 60)")).to be(true), one.log
    one.run("RperfPush.shutdown")
    stats = one.stats
    expect(stats).to include("payloads_delivered" => stats["payloads_created"], "payloads_unspooled" => stats["payloads_spooled"],
                             "spool_errors" => 0)
    expect(sum(arrived("one"))).to eq(stats["cpu_ns_encoded"])
    expect(arrived("one").map(&:time_nanos).uniq.size).to eq(stats["payloads_created"])
    expect(files).to eq([])
  end

  it "that vanishes takes along what it held, which is told; the rest waits in memory" do
    fake_server.fault(down: "refuse")
    one = app("one")
    wait_for_stats(one, "files") { |stats| stats["spool_files"] >= 2 }
    FileUtils.mv(folder, "#{tmpdir}/away")
    wait_for_stats(one, "windows in memory") { |stats| stats["spool_errors"] >= 1 && stats["queue_payloads"] >= 3 }
    expect(one.log).to match(/cannot take a profile: No such file or directory/)
    expect(File).not_to exist(folder)

    FileUtils.mv("#{tmpdir}/away", folder)
    fake_server.fault
    expect(one.run("RperfPush.flush(timeout: 60)")).to be(true), one.log
    wait_for_stats(one, "an empty spool") { |stats| stats["payloads_unspooled"] == stats["payloads_spooled"] && files.empty? }
    one.run("RperfPush.shutdown")
    expect(one.stats).to include("payloads_delivered" => one.stats["payloads_created"])
  end
end
