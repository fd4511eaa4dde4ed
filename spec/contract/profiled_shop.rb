# frozen_string_literal: true

require "securerandom"
require_relative "../../examples/support/shop_process"
require_relative "../support/windows_in_a_row"
require_relative "../support/pyroscope_client"

# The main job, end to end: a shop under load, profiled and pushed, and read back. Needs `url`; with `received`, what
# came over the wire, the windows themselves are looked at too.
RSpec.shared_examples "a Pyroscope that a profiled shop pushes to" do
  before(:all) do
    @run = SecureRandom.hex(6) # a server with a history must not matter
    @started = Time.now - 1
    @shop = ShopProcess.new({ "RPERF_PUSH_SERVER_ADDRESS" => target.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "2", "SHOP_DEBUG" => "1",
                              "RPERF_PUSH_BACKEND" => "pyroscope", "RPERF_PUSH_TAGS" => "run=#{@run}" })
    @shop.serve(seconds: 9, clients: 8)
    @flushed = @shop.flush
    @shop.end_profiling # so that what is read stands still
    @encoded = @shop.stats.values_at("cpu_ns_encoded", "wall_ns_encoded")
  end

  after(:all) { @shop&.stop }

  let(:client) { PyroscopeClient.new(target.url) }
  let(:service) { client.label_values("service_name", "{run=\"#{@run}\"}").first }
  let(:selector) { PyroscopeClient.service(service, run: @run) }

  def total(type) = client.total(type, selector, from: @started)

  def merged(type) = client.select_merge_profile(type, selector, from: @started)

  it "flushes" do
    expect(@flushed).to be(true), @shop.log
    expect(service).to eq("shop")
  end

  it "lists cpu and wall" do
    expect(client.profile_types).to include(PyroscopeClient::CPU, PyroscopeClient::WALL)
    expect(client.profile_types(selector)).to contain_exactly(PyroscopeClient::CPU, PyroscopeClient::WALL)
  end

  it "lists the shop's endpoints and what threads wait for" do
    expect(client.label_values("endpoint", selector)).to include("GET /", a_string_starting_with("GET /products"),
                                                                 a_string_starting_with("POST /"))
    states = client.label_values("gvl_state", selector)
    expect(states).to include("blocked")
    expect(states - %w[blocked wait]).to be_empty
  end

  it "holds the shop's methods by their qualified names" do
    [PyroscopeClient::CPU, PyroscopeClient::WALL].each do |type|
      names = merged(type).function_names
      expect(names).to include(a_string_matching(/\AShop::\w+(::\w+)*#\w+/))
      expect(names.grep(/\AShop::/).map { |name| name[/\AShop::\w+/] }.uniq.size).to be >= 3
    end
  end

  # What is written in C, such as the constructor of a Struct, has no file. YJIT does not keep the line of the method that
  # runs right now, but that of each that has called another.
  it "keeps files and lines of what is written in Ruby" do
    leaves, callers = [0..0, 1..].map do |part|
      merged(PyroscopeClient::CPU).samples.flat_map { |sample| sample.stack[part] }.uniq.select { |frame| frame.name.start_with?("Shop::") }
    end
    native = (leaves + callers).select { |frame| frame.filename.empty? }
    expect(native.map(&:name)).to all(end_with(".new"))
    expect(leaves + callers - native).to all(have_attributes(filename: end_with(".rb").or(end_with(".erb"))))
    expect(callers - native).to all(have_attributes(line: be_positive))
  end

  it "sums up to what was encoded" do
    read = nil
    wait_until("sums that agree") do
      read = [PyroscopeClient::CPU, PyroscopeClient::WALL].map { |type| total(type) }
      @encoded.all?(&:positive?) && @encoded.zip(read).all? { |encoded, got| (encoded - got).abs <= encoded / 1000.0 }
    end
  rescue RuntimeError => e
    raise "#{e.message}: encoded #{@encoded}, read #{read}"
  end

  context "on the wire" do
    before { skip "a real server does not tell one push from the other" unless target.respond_to?(:received) }

    let(:received) do
      target.received.select { |one| one.labels.include?(["run", @run]) }.sort_by(&:time_nanos)
    end

    it "has nothing refused and nothing that other tools would stumble over" do
      expect(received).to all(be_accepted)
      expect(received.flat_map(&:violations).uniq).to be_empty
    end

    it "has windows that neither overlap nor leave gaps" do
      expect(received.size).to be >= 4
      expect(WindowsInARow).to be_possible(received), received.map { |one| [one.time_nanos, one.duration_nanos] }.inspect
    end

    it "has one series a request, named as agreed" do
      agreed = { "__name__" => "process_cpu", "__delta__" => "false", "service_name" => "shop" }
      expect(received.map { |one| one.labels.to_h }).to all(include(agreed))
      expect(received.map(&:headers)).to all(include("content-type" => "application/proto"))
    end
  end
end
