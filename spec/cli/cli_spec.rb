# frozen_string_literal: true

require "rperf_push/cli"

RSpec.describe RperfPush::CLI do
  include CommandLine

  it "tells its version" do
    expect(rperf_push("--version").to_a).to eq(["rperf-push #{RperfPush::VERSION}\n", "", 0])
  end

  it "lists in help what there is, and nothing else" do
    ended = rperf_push("help")
    listed = ended.out.scan(/^  (\w+) {2,}/).flatten
    there = Dir[File.expand_path("../../lib/rperf_push/cli/*.rb", __dir__)].map { |path| File.basename(path, ".rb") }
    expect([ended.status, ended.err]).to eq([0, ""])
    expect(listed).to eq(described_class::COMMANDS.keys)
    expect(listed - there).to eq(["help"])
  end

  (described_class::COMMANDS.keys - ["help"]).each do |command|
    it "explains the options of #{command}" do
      ended = rperf_push("help", command)
      expect([ended.status, ended.err]).to eq([0, ""])
      expect(ended.out).to start_with("usage: rperf-push #{command}").and include("--server URL")
    end

    it "names a wrong option of #{command}" do
      expect(rperf_push(command, "--nope").to_a).to eq(["", "rperf-push: #{command}: invalid option: --nope\n", 1])
    end
  end

  it "shows help when asked for nothing" do
    expect(rperf_push.out).to eq(rperf_push("help").out)
  end

  ["reckord", "CLI", "../cli", "help me"].each do |name|
    it "refuses the command #{name.inspect} in one line" do
      expect(rperf_push(name).to_a).to eq(["", "rperf-push: unknown command #{name.inspect}; rperf-push help lists them\n", 1])
    end
  end

  it "speaks up when warnings are off" do
    expect(rperf_push("nope", env: { "RUBYOPT" => "-W0" }).err).to include("unknown command")
  end
end
