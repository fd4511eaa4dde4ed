# frozen_string_literal: true

require "securerandom"
require_relative "../support/parca_client"
require_relative "../support/working_process"

# A program that works, waits for the GVL, sleeps and collects garbage, profiled and written to Parca, and read back. Needs
# `target`; with `received`, what came over the wire is looked at too.
RSpec.shared_examples "a Parca that a profiled program writes to" do
  before(:all) do
    @run = SecureRandom.hex(6) # a server with a history must not matter
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => target.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1",
                              "RPERF_PUSH_BACKEND" => "parca", "RPERF_PUSH_TAGS" => "run=#{@run}")
    @app.run(<<~RUBY)
      def spin = Thread.new { Math.sqrt(rand) until $done }
      def collect = 20.times { GC.start }
      300.times { request }
      { "GET /" => 1.0, "POST /" => 0.3 }.each { |endpoint, seconds| RperfPush.label(endpoint:) { burn(seconds) } }
      threads = Array.new(2) { spin } << Thread.new { sleep 0.01 until $done }
      sleep 2
      collect
      $done = true
      threads.each(&:join)
      nil
    RUBY
    @flushed = @app.flush
    @stats = @app.end_profiling
  end

  after(:all) { @app&.stop }

  let(:client) { ParcaClient.new(target.url) }
  let(:selector) { ParcaClient.service("worker", run: @run) }

  def merged(type) = client.merge_profile(type, selector)

  def of_endpoint(endpoint) = client.total(ParcaClient::CPU, ParcaClient.service("worker", run: @run, endpoint:))

  it "delivers each window" do
    expect(@flushed).to be(true), @app.log
    expect(@stats["payloads_created"]).to be >= 3
    expect(@stats).to include("payloads_delivered" => @stats["payloads_created"], "uploads_failed" => 0)
  end

  it "lists cpu and wall, the service and its tags" do
    expect(client.profile_types).to include(ParcaClient::CPU, ParcaClient::WALL)
    expect(client.label_values("service_name")).to include("worker")
    expect(client.label_values("run")).to include(@run)
  end

  it "holds the program's methods, with files and lines" do
    frames = merged(ParcaClient::CPU).samples.flat_map { |sample| sample.stack.to_a }.uniq
    expect(frames.map(&:name)).to include("Object#request", "Object#spin", "Math.sqrt")
    expect(frames.select { |frame| frame.name == "Object#request" }).to all(have_attributes(filename: end_with(".rb")))
  end

  it "is found by its labels, each with the time that it took, and all of it under one or another" do
    by_endpoint = ["GET /", "POST /", "GET /work"].to_h { |endpoint| [endpoint, of_endpoint(endpoint)] }
    expect(by_endpoint.values).to all(be_positive)
    expect(by_endpoint["GET /"]).to be > by_endpoint["POST /"]
    expect(by_endpoint.values.sum).to be <= @stats["cpu_ns_encoded"]
    expect(client.label_values("gvl_state")).to include("wait", "blocked")
    expect(@stats["samples_unlabelled"]).to eq(0)
  end

  # For those who look without labels.
  it "holds what threads waited for, and the garbage collector, as frames at the leaf" do
    leaves = merged(ParcaClient::WALL).samples.map { |sample| sample.stack.first.name }.uniq
    expect(leaves).to include("[GVL wait]", "[GVL blocked]", "[GC marking]")
    inner = merged(ParcaClient::WALL).samples.flat_map { |sample| sample.stack.drop(1).map(&:name) }
    expect(inner.grep(/\A\[G/)).to eq([])
  end

  it "sums up to what was encoded" do
    read = [ParcaClient::CPU, ParcaClient::WALL].map { |type| client.total(type, selector) }
    expect(read).to all(be_positive)
    expect(read).to eq(@stats.values_at("cpu_ns_encoded", "wall_ns_encoded"))
  end

  context "on the wire" do
    before { skip "a real server does not tell one request from the other" unless target.respond_to?(:received) }

    let(:received) { target.received.select { |one| one.labels.include?(["run", @run]) } }

    it "has nothing refused, nothing that other tools would stumble over, and nothing that ends a server" do
      expect(received).to all(be_accepted)
      expect(received.map(&:time_nanos).uniq.size).to eq(@stats["payloads_created"])
      expect(received.flat_map(&:violations).uniq).to eq([])
      expect(target.crashes).to eq([])
    end
  end
end
