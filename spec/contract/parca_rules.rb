# frozen_string_literal: true

require "securerandom"
require_relative "../support/parca_client"
require_relative "../support/pprof_builder"
require_relative "../support/raw_write"

# What Parca (0.28) does with what is written to it. Needs `url`. The fake server must answer as the real server does, or it proves
# nothing. What ends the real server is not here: that is tried on the fake server only.
RSpec.shared_examples "a Parca" do
  cpu = ParcaClient::CPU
  wall = ParcaClient::WALL

  let(:writer) { RawWrite.new(url) }
  let(:client) { ParcaClient.new(url) }
  let(:service) { "contract-#{SecureRandom.hex(6)}" } # a server with a history must not matter
  let(:selector) { ParcaClient.service(service) }
  let(:labels) { { "__name__" => "process_cpu", "service_name" => service } }
  let(:good) { builder.sample(%w[Shop#work Shop#main], [10, 20]) }

  def builder(**) = PprofBuilder.new(**)

  def write(profile = good, series = labels) = writer.write(profile.is_a?(String) ? profile : profile.gzip, series)

  matcher :be_taken do
    match { |answer| answer.status == 200 && JSON.parse(answer.body) == {} }
  end

  describe "HTTP" do
    it "takes a profile, and has it readable at once" do
      expect(write).to be_taken
      expect([client.total(cpu, selector), client.total(wall, selector)]).to eq([10, 20])
    end

    it "takes a profile that is not gzipped" do
      expect(write(good.bytes)).to be_taken
      expect(client.total(cpu, selector)).to eq(10)
    end

    it "refuses a request that is compressed" do
      expect(writer.send_body(Zlib.gzip(RawWrite.request([[labels, good.gzip]])), "Content-Encoding": "gzip").status).to eq(400)
      expect(client.total(cpu, selector)).to eq(0)
    end

    it "refuses what is no JSON, in words" do
      answer = writer.send_body("{")
      expect([answer.status, answer.message]).to match([400, /\S/])
    end

    it "knows POST only" do
      expect(writer.send_body(nil, verb: :Get).status).to eq(501)
    end
  end

  describe "labels" do
    it "takes any UTF-8 name, and more than 30" do
      many = (1..40).to_h { |number| ["label_#{number}", "x"] }
      expect(write(good, labels.merge(many, "größe" => "ü"))).to be_taken
      expect(client.total(cpu, ParcaClient.service(service, label_40: "x"))).to eq(10)
      expect(client.label_names).to include("service_name", "label_1", "größe")
      expect(client.label_values("service_name")).to include(service)
    end

    it "loses those of samples, and sums what they kept apart" do
      write(builder.sample(%w[a], [1, 1], "endpoint" => "GET /").sample(%w[a], [2, 2], "endpoint" => "POST /", "thread_seq" => 1))
      profile = client.merge_profile(cpu, selector)
      expect(profile.samples.map { |sample| [sample.values, sample.labels.slice("endpoint")] }).to eq([[[3], {}]])
    end
  end

  describe "series" do
    def request(count)
      RawWrite.request((1..count).map do |number|
        [labels.merge("endpoint" => "GET /#{number}"), builder.sample(%w[Shop#work Shop#main], [number, 1]).gzip]
      end)
    end

    it "keeps the labels of each of 300 in one request, and their sums" do
      answer = writer.send_body(request(300))
      expect([answer.status, client.total(cpu, selector), client.total(wall, selector)]).to eq([200, 300 * 301 / 2, 300])
      expect(client.total(cpu, ParcaClient.service(service, endpoint: "GET /77"))).to eq(77)
      expect(client.label_values("endpoint").count { |value| value.match?(%r{\AGET /\d+\z}) }).to be >= 300
    end
  end

  describe "profiles" do
    def broken
      good.message.then { |message| yield message }
      write
    end

    %i[mapping function location].each do |name|
      it "refuses #{name} ids that are not 1 to N in order" do
        answer = broken { |message| message[name.to_s].last.id = 7 }
        expect([answer.status, answer.message]).to match([400, /#{name}/])
        expect(client.total(cpu, selector)).to eq(0)
      end
    end

    it "answers 500 to a - in a sample type" do
      expect(write(builder(types: [%w[off-cpu nanoseconds]]).sample(%w[a], [1])).status).to eq(500)
    end

    it "takes any time" do
      expect(write(builder(time_nanos: (Time.now.to_i - (30 * 3600)) * 1_000_000_000).sample(%w[a], [5, 5]))).to be_taken
      expect(client.total(cpu, selector, from: Time.now - (31 * 3600))).to eq(5)
    end

    it "keeps the deepest stack whole" do
      expect(write(builder.sample((1..1500).map { |number| "m#{number}" }, [1, 1]))).to be_taken
      expect(client.merge_profile(cpu, selector).samples.map { |sample| sample.stack.size }).to eq([1500])
    end

    it "takes 20,000 samples" do
      profile = builder
      20_000.times { |number| profile.sample(["a#{number % 100}", "b#{number / 100}"], [1, 1]) }
      expect(write(profile)).to be_taken
      expect(client.total(cpu, selector)).to eq(20_000)
    end
  end

  describe "reading back" do
    it "has a profile type for each sample type, a delta where there is a duration" do
      write
      good.message.duration_nanos = 0
      write
      expect(client.profile_types).to include(cpu, wall, cpu.delete_suffix(":delta"))
      expect([client.total(cpu, selector), client.total(cpu.delete_suffix(":delta"), selector)]).to eq([10, 10])
    end

    it "sums what came twice" do
      2.times { expect(write).to be_taken }
      expect(client.total(wall, selector)).to eq(40)
    end

    it "merges with names, files and lines" do
      write
      profile = client.merge_profile(wall, selector)
      expect(profile.sample_types).to eq([%w[wall nanoseconds]])
      expect(profile.samples.first.stack.first.to_a.first(4)).to eq(["Shop#work", "app.rb", 2, 1])
      expect(profile.by_method).to eq("Shop#work" => [20, 20], "Shop#main" => [0, 20])
    end
  end
end
