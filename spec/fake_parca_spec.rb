# frozen_string_literal: true

require "socket"
require_relative "support/parca_client"
require_relative "support/fake_parca/remote"
require_relative "support/pprof_builder"
require_relative "support/raw_write"

# The fake server itself, where the contract does not reach: what ends a server, limits, faults, what it tells about what it
# was sent.
RSpec.describe FakeParca, :once do
  let(:options) { {} }
  let(:parca) { described_class.new(latency: 0..0, **options) }
  let(:writer) { RawWrite.new(parca.url) }
  let(:client) { ParcaClient.new(parca.url) }
  let(:labels) { { "__name__" => "process_cpu", "service_name" => "shop" } }
  let(:good) { PprofBuilder.new.sample(%w[b a], [1, 2]) }

  after { parca.stop }

  def write(profile = good, series = labels, **) = writer.write(profile.is_a?(String) ? profile : profile.gzip, series, **)

  def total = client.total(ParcaClient::CPU, "{}")

  describe "what ends a server" do
    def expect_crash(message, &)
      expect { expect(&).to raise_error(EOFError) }.to output(/would have crashed: #{message}/).to_stderr
      expect { write }.to raise_error(Errno::ECONNREFUSED)
      expect(parca.crashes).to eq([message])
    end

    it "is a profile without period_type" do
      good.message.period_type = nil
      expect_crash("a profile without period_type") { write }
    end

    it "is a profile without samples, without values, or without a byte" do
      expect_crash("an empty profile") { write(PprofBuilder.new) }
      parca.fault
      expect { write(PprofBuilder.new.sample(%w[a], [0, 0])) }.to raise_error(EOFError).and output.to_stderr
      parca.fault
      expect { write("") }.to raise_error(EOFError).and output.to_stderr
      expect(parca.crashes).to eq(["an empty profile"] * 3)
    end

    it "is a series without labels" do
      expect_crash("a series without labels") { write(good, nil) }
    end

    it "does so again after a restart, and then works" do
      good.message.period_type = nil
      2.times do
        expect { write }.to raise_error(EOFError).and output.to_stderr
        parca.fault
      end
      expect(write(PprofBuilder.new.sample(%w[a], [3, 3])).status).to eq(200)
      expect(total).to eq(3)
      expect(parca.received.map(&:status)).to eq([0, 0, 200])
    end
  end

  describe "what it refuses" do
    def refusal(...)
      answer = write(...)
      [answer.status, JSON.parse(answer.body)["code"], answer.message]
    end

    it "is a series without a name, or with a name twice" do
      expect(refusal(good, labels.except("__name__"))).to match([400, 3, /missing __name__/])
      expect(refusal(good, {})).to match([400, 3, /missing __name__/])
      expect(refusal(good, [*labels.to_a, %w[env a], %w[env b]])).to match([400, 3, /duplicate label name: env/])
    end

    it "is what cannot be decoded" do
      expect(refusal("no profile")).to match([400, 3, /failed to parse profile/])
      expect(refusal("\x1F\x8Bno gzip".b)).to match([500, 2, /decompressing profile/])
      expect(writer.send_body('{"series": 1}').status).to eq(400)
    end

    it "is a sample that does not fit its profile" do
      expect(refusal(PprofBuilder.new.sample(%w[a], [1]))).to match([400, 3, /1 values vs. 2 types/])
      good.message.sample.first.location_id[0] = 9
      expect(refusal).to match([400, 3, /out of range/])
    end

    it "is all of a request for one bad series" do
      bad = PprofBuilder.new.sample(%w[a], [1])
      expect(writer.send_body(RawWrite.request([[labels, good.gzip], [labels, bad.gzip]])).status).to eq(400)
      expect(total).to eq(0)
    end

    it "is any other path" do
      answers = %w[/api/profiles/write /api /].map { |path| Net::HTTP.get_response(URI(parca.url + path)).code }
      expect(answers).to all eq("404")
    end

    context "with a lower limit" do
      let(:options) { { max_bytes: 10_000 } }

      it "is what is larger, for ever" do
        expect(refusal(good.tap { |profile| profile.string(Random.bytes(11_000)) })).to match([429, 8, /message larger than max/])
        expect(parca.received).to be_empty
      end
    end

    context "with less time" do
      let(:options) { { request_timeout: 1 } }

      it "is a request that comes in too slowly" do
        TCPSocket.open("127.0.0.1", URI(parca.url).port) do |socket|
          socket.write("POST #{RawWrite::PATH} HTTP/1.1\r\nContent-Length: 100\r\n\r\n")
          expect(socket.read).to eq("")
        end
        expect(parca.requests).to eq(0)
        expect(write.status).to eq(200)
      end
    end

    context "with a proxy in front" do
      let(:options) { { bearer: "secret", prefix: "/parca" } }

      it "is who does not show the token, or comes another way" do
        expect(write.status).to eq(401)
        expect(write(Authorization: "Bearer secret").status).to eq(200)
        expect(RawWrite.new(parca.url.delete_suffix("/parca")).write(good.gzip, labels, Authorization: "Bearer secret").status).to eq(404)
      end
    end
  end

  describe "faults" do
    it "says no, stores nothing, and speaks of it as gRPC does" do
      parca.fault(status: 503, retry_after: 7, message: "not today")
      answer = write
      expect([answer.status, answer.message, answer.headers["Retry-After"]]).to eq([503, "not today", "7"])
      expect(JSON.parse(answer.body)).to eq("code" => 14, "message" => "not today", "details" => [])
      expect(total).to eq(0)
    end

    it "loses an answer and not the profile" do
      parca.fault(lost_answer: true)
      expect { write }.to raise_error(EOFError)
      parca.fault
      expect(total).to eq(1)
    end
  end

  describe "what it was sent" do
    it "has nothing wrong when it is good" do
      write
      expect(parca.violations).to eq([])
      expect(parca.accepted.first).to have_attributes(labels: labels.to_a, time_nanos: good.message.time_nanos)
    end

    it "is pointed at when other tools would not like it" do
      good.message.function.first.system_name = good.message.function.first.name
      writer.send_body(RawWrite.request([[labels.merge("größe" => "1"), good.gzip], *[[labels.except("service_name"), good.gzip]] * 2]))
      expect(parca.violations).to include(/repeats its name/, /"größe" is not legal/, "no service_name",
                                          "two series of the same labels in one request")
      write(PprofBuilder.new.sample(%w[a], [1, 1], "endpoint" => "GET /"))
      expect(parca.violations).to include("labels of samples, which are lost here")
    end
  end

  describe "queries" do
    def answer(path) = Net::HTTP.get_response(URI("#{parca.url}/api/profiles#{path}")).then { |got| [got.code.to_i, JSON.parse(got.body)["code"]] }

    it "want a type, a time, and pprof" do
      expect(answer("/query?mode=MODE_MERGE&report_type=REPORT_TYPE_PPROF")).to eq([400, 3])
      expect(answer("/query?mode=MODE_MERGE&report_type=REPORT_TYPE_PPROF&merge.query=cpu%7B%7D&merge.start=1&merge.end=2")).to eq([400, 3])
    end

    it "find nothing outside of their time" do
      write
      expect(client.total(ParcaClient::CPU, "{}", from: Time.now - 7200, to: Time.now - 3600)).to eq(0)
      expect(client.label_names(from: Time.now - 7200, to: Time.now - 3600)).to eq([])
      expect(total).to eq(1)
    end
  end

  describe "in a process of its own" do
    let(:parca) { FakeParca::Remote.new }

    it "does the same" do
      expect(write.status).to eq(200)
      expect(parca.received.first).to have_attributes(labels: labels.to_a, time_nanos: good.message.time_nanos, accepted?: true)
      parca.fault(status: 500)
      expect(write.status).to eq(500)
      parca.fault
      expect([parca.requests, parca.crashes, total]).to eq([2, [], 1])
    end
  end
end
