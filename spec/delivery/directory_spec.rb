# frozen_string_literal: true

require "fileutils"
require "rperf_push"
require_relative "../support/pprof_profile"
require_relative "../support/working_process"

# The directory backend in a program that runs.
RSpec.describe "Profiles as files", :once, :waiting, :short, :quick do
  let(:folder) { "#{tmpdir}/deep/profiles" }
  let(:settings) { {} }
  let(:app) do
    env = { "BACKEND" => "directory", "DIRECTORY" => folder, "UPLOAD_INTERVAL" => "0.1", **settings }
    WorkingProcess.new(env.transform_keys { |name| "RPERF_PUSH_#{name}" })
  end

  after { app.stop }

  # By time.
  def files = Dir["#{folder}/*"].sort_by { |path| File.basename(path)[/-\d{8}T\d{6}\.\d{3}Z/] }
  def delivered = app.stats["payloads_delivered"]

  # A window that is written while the folder is deleted piece by piece would make parts of it again.
  def while_it_stands_still
    Process.kill(:STOP, app.pid)
    Process.wait(app.pid, Process::WUNTRACED)
    yield
  ensure
    Process.kill(:CONT, app.pid)
  end

  def wait_for_more(count) = delivered.then { |before| wait_until("#{count} more files") { delivered >= before + count } }

  # A preloaded worker is a child of the process that has written files before.
  it "say whose they are, and are numbered in each process from 1" do
    code = <<~RUBY
      RperfPush.configure { |config| config.directory = #{folder.inspect}; config.application_name = "shop"; config.tags[:env] = "test" }
      work = ->(*) { 200_000.times { Math.sqrt(2) }; RperfPush.flush }
      2.times(&work)
      Process.wait(fork { work.call })
      RperfPush.shutdown
    RUBY
    _, err, status = run_ruby(code)
    expect([err, status]).to match(["", be_success])
    numbers = files.group_by { |path| path[/-(\d+)-\d+\.pb/, 1] }.values.map { |paths| paths.map { |path| path[/-(\d+)\.pb/, 1].to_i } }
    expect(numbers.map(&:first)).to eq([1, 1])
    comments = files.map { |path| RperfPush.load(path)[:comments] }
    expect(comments).to all(include("application_name shop", "tag env=test"))
  end

  context "with a limit of number" do
    let(:settings) { { "DIRECTORY_MAX_FILES" => "3" } }

    it "are the newest, whole, and nobody else's to read" do
      wait_for_more(6)
      app.run("RperfPush.shutdown")
      times = files.map { |path| PprofProfile.read(path).time_nanos }
      expect(times.size).to eq(3)
      expect(times).to eq(times.sort)
      expect(times.last).to be_within(20e9).of(Time.now.to_i * 1e9)
      expect(files.map { |path| File.stat(path).mode & 0o777 }).to all eq(0o600)
      expect(Dir.children(folder).size).to eq(3) # nothing half-written either
    end
  end

  context "with a limit of bytes" do
    let(:settings) { { "DIRECTORY_MAX_BYTES" => "5000" } }

    it "are as many as fit" do
      wait_for_more(12)
      app.run("RperfPush.shutdown")
      sizes = files.map { |path| File.size(path) }
      expect(sizes.sum).to be <= 5000
      expect(sizes.sum + (2 * sizes.max)).to be > 5000
      expect(app.stats["bytes_compressed"]).to be > 5000
    end
  end

  it "come again after their folder vanished" do
    wait_for_more(1)
    while_it_stands_still { FileUtils.rm_rf(File.dirname(folder)) }
    wait_for_more(2)
    expect(files).not_to be_empty
    app.run("RperfPush.shutdown")
    expect(app.stats).to include("payloads_delivered" => app.stats["payloads_created"], "uploads_failed" => 0)
    expect(app.log).to eq("")
  end

  it "wait while there cannot be a folder, which is told and counted" do
    wait_for_more(1)
    while_it_stands_still do
      FileUtils.rm_rf(File.dirname(folder))
      File.write(File.dirname(folder), "in the way")
    end
    wait_until("windows that wait") { app.stats.then { |stats| stats["uploads_retried"] >= 1 && stats["queue_payloads"] >= 3 } }
    expect(app.stats["last_error"]).to match(/could not create .*deep.*: Not a directory/)

    File.delete(File.dirname(folder))
    expect(app.flush).to be(true)
    app.run("RperfPush.shutdown")
    expect(app.stats).to include("payloads_delivered" => app.stats["payloads_created"])
    expect(app.log.lines).to match([/upload to directory failed: could not create .*; trying again$/, /uploads to directory work again/])
  end
end
