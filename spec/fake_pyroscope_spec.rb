# frozen_string_literal: true

require "socket"
require_relative "support/pprof_builder"
require_relative "support/pyroscope_client"
require_relative "support/fake_pyroscope/remote"
require_relative "support/raw_push"

# The fake server itself, where the contract does not reach: older rules, faults, what it tells about what it was sent.
RSpec.describe FakePyroscope, :once do
  let(:options) { {} }
  let(:pyroscope) { described_class.new(latency: 0..0, **options) }
  let(:pusher) { RawPush.new(pyroscope.url) }
  let(:client) { PyroscopeClient.new(pyroscope.url) }
  let(:labels) { { "__name__" => "process_cpu", "service_name" => "shop", "__delta__" => "false" } }
  let(:good) { PprofBuilder.new.sample(%w[b a], [1, 2]) }

  after { pyroscope.stop }

  def push(profile = good, series = labels, **headers) = pusher.push(profile.gzip, series, **headers)

  def total = client.total(PyroscopeClient::CPU, "{}")

  describe "the rules of v1" do
    let(:options) { { rules: :v1 } }

    it "drops a second profile of the same series and millisecond" do
      second = PprofBuilder.new(time_nanos: good.message.time_nanos + 999_999).sample(%w[b a], [10, 20])
      expect([push, push(second)].map(&:status)).to eq([200, 200])
      expect(total).to eq(1)
    end

    it "keeps a profile one millisecond later" do
      push
      push(PprofBuilder.new(time_nanos: good.message.time_nanos + 1_000_000).sample(%w[b a], [10, 20]))
      expect(total).to eq(11)
    end

    it "keeps the same millisecond in another series" do
      push
      push(good, labels.merge("pid" => "2"))
      expect(total).to eq(2)
    end

    it "makes underscores of dots" do
      push(good, labels.merge("host.name" => "a"))
      expect(client.label_values("host_name")).to eq(["a"])
    end

    it "refuses two names that become one, unless they say the same" do
      expect(push(good, labels.merge("a.b" => "1", "a_b" => "2")).message).to match(/duplicate label name/)
      expect(push(good, labels.merge("a.b" => "1", "a_b" => "1")).status).to eq(200)
    end

    it "refuses the whole profile for one illegal sample label" do
      expect(push(good.sample(%w[c], [1, 1], "%GVL" => "wait")).message).to match(/invalid label name '%GVL'/)
      expect(client.profile_types).to be_empty
    end
  end

  describe "the older way in" do
    let(:options) { { push: false } }

    def ingest(body = good.gzip, name: "shop{env=test}", **more)
      query = URI.encode_www_form(name:, from: 1, until: 2, format: "pprof", spyName: "gospy", **more)
      uri = URI("#{pyroscope.url}/ingest?#{query}")
      Net::HTTP.post(uri, body, "Content-Type" => "application/octet-stream").code.to_i
    end

    it "is all there is" do
      expect(push.status).to eq(404)
      expect(ingest).to eq(200)
      expect(client.label_values("env")).to eq(["test"])
      expect(pyroscope.violations).to eq([])
    end

    it "names the whole profile after a sample type called wall" do
      ingest
      expect(client.profile_types).to eq(["wall:cpu:nanoseconds:cpu:nanoseconds", "wall:wall:nanoseconds:cpu:nanoseconds"])
    end

    it "refuses what it cannot read, and names that it does not like" do
      expect([ingest("no profile"), ingest("\x1F\x8Bno gzip".b), ingest(format: "folded")]).to eq([422, 422, 422])
      expect([ingest(name: ""), ingest(name: "my shop"), ingest(name: "shop{a-b=1}")]).to eq([400, 400, 400])
    end

    it "loses an empty body without a word" do
      expect([ingest(""), client.profile_types]).to eq([200, []])
    end

    it "points at who would have names rewritten" do
      ingest(spyName: "rbspy")
      expect(pyroscope.violations).to eq(["spyName=rbspy has names rewritten"])
    end
  end

  describe "faults" do
    it "refuses connections, and comes back to the same address" do
      push
      pyroscope.fault(down: "refuse")
      expect { push }.to raise_error(Errno::ECONNREFUSED)
      pyroscope.fault
      expect(push.status).to eq(200)
      expect(total).to eq(2)
    end

    it "closes connections unanswered" do
      pyroscope.fault(down: "close")
      expect { push }.to raise_error(EOFError)
      expect(pyroscope.received).to be_empty
    end

    it "loses an answer and not the profile" do
      pyroscope.fault(lost_answer: true)
      expect { push }.to raise_error(EOFError)
      pyroscope.fault
      expect(total).to eq(1)
    end

    it "answers late and stores at once" do
      pyroscope.fault(delay: 2)
      answer = Thread.new { push }
      wait_until("the profile") { total == 1 }
      expect(answer).to be_alive
      expect(answer.value.status).to eq(200)
    end

    it "stores what a client sent that hung up" do
      pyroscope.fault(delay: 1)
      body = RawPush.request([[labels, good.gzip]])
      TCPSocket.open("127.0.0.1", URI(pyroscope.url).port) do |socket|
        socket.write("POST #{RawPush::PATH} HTTP/1.0\r\nContent-Type: application/proto\r\nContent-Length: #{body.bytesize}\r\n\r\n", body)
      end
      wait_until("the profile") { pyroscope.accepted.any? }
      expect(total).to eq(1)
    end

    it "does not store half a request" do
      TCPSocket.open("127.0.0.1", URI(pyroscope.url).port) do |socket|
        socket.write("POST #{RawPush::PATH} HTTP/1.1\r\nContent-Type: application/proto\r\nContent-Length: 100\r\n\r\n", "half")
      end
      expect(push.status).to eq(200)
      expect(pyroscope.requests).to eq(1)
    end

    { 429 => "resource_exhausted", 500 => "unknown", 503 => "unavailable" }.each do |status, code|
      it "answers #{status} and stores nothing" do
        pyroscope.fault(status:, retry_after: 7, message: "not today")
        answer = push
        expect([answer.status, answer.code, answer.message, answer.headers["Retry-After"]]).to eq([status, code, "not today", "7"])
        expect(client.profile_types).to be_empty
        expect(pyroscope.received.map(&:status)).to eq([status])
      end
    end

    it "answers 504 and stores all the same" do
      pyroscope.fault(status: 504)
      expect(push.code).to eq("deadline_exceeded")
      expect(total).to eq(1)
    end

    it "does not know others" do
      expect { pyroscope.fault(dwon: "refuse") }.to raise_error(ArgumentError, /dwon/)
      expect { pyroscope.fault(status: 418) }.to raise_error(ArgumentError, /418|status/)
    end
  end

  describe "access" do
    context "with tenants" do
      let(:options) { { tenants: true } }

      it "wants to know whose it is" do
        expect([push.status, push.message]).to eq([401, "no org id"])
        expect(push(**{ "X-Scope-OrgID": "me" }).status).to eq(200)
      end
    end

    context "with basic auth" do
      let(:options) { { basic_auth: "me:secret" } }

      it "wants user and password" do
        expect(push(Authorization: "Basic #{["me:wrong"].pack("m0")}").code).to eq("unauthenticated")
        expect(push(Authorization: "Basic #{["me:secret"].pack("m0")}").status).to eq(200)
      end
    end

    context "behind a path" do
      let(:options) { { prefix: "/pyroscope" } }

      it "is there and nowhere else" do
        expect(push.status).to eq(200)
        expect(total).to eq(1)
        expect(RawPush.new(pyroscope.url.delete_suffix("/pyroscope")).push(good.gzip, labels).status).to eq(404)
      end
    end
  end

  context "with a bucket that hardly fills" do
    let(:options) { { rate: 1 } }

    it "counts uncompressed bytes, those of a refused profile too" do
      good.string("x" * 1_500_000)
      good.message.location.first.id = 0
      expect(push.status).to eq(400)
      good.message.location.first.id = 1
      expect(push.status).to eq(429)
    end
  end

  describe "what it was sent" do
    def violations_of
      yield good.message
      push
      pyroscope.violations
    end

    it "finds nothing wrong with a good profile" do
      push(good.sample(%w[a], [1, 1], "endpoint" => "GET /", "thread_seq" => 1))
      expect(pyroscope.violations).to be_empty
      expect(pyroscope.accepted.first).to have_attributes(labels: labels.to_a, time_nanos: good.message.time_nanos,
                                                          headers: include("content-type" => "application/proto"))
    end

    it "remembers what it refused" do
      push(good, labels.except("__name__"))
      expect(pyroscope.received.map(&:status)).to eq([400])
      expect(pyroscope.accepted).to be_empty
    end

    {
      "ids that leave out a number" => [->(m) { m.function.last.id = 7 }, "function ids are not 1..N in order"],
      "no mapping" => [->(m) { m.mapping.clear }, "no complete mapping"],
      "no period type" => [->(m) { m.period_type = nil }, "no period_type"],
      "no default type" => [->(m) { m.default_sample_type = 0 }, /default_sample_type is none of/],
      "a system name that repeats the name" => [->(m) { m.function.first.system_name = m.function.first.name }, /repeats its name/],
      "a string table that begins with text" => [->(m) { m.string_table[0] = "x".b }, "string_table[0] is not empty"],
      "a label with text and number" => [->(m) { add_label(m, key: 1, str: 2, num: 3) }, /both text and number/],
      "a number 0 without unit" => [->(m) { add_label(m, key: 1) }, /is 0 without unit/],
      "a key twice" => [->(m) { 2.times { add_label(m, key: 1, str: 2) } }, /twice/],
      "a key that is text here and a number there" => [->(m) { add_label(m, key: 1, str: 2) && add_label(m, key: 1, num: 2) }, /text here/],
      "no samples" => [->(m) { m.sample.clear }, "an empty profile"],
      "no duration" => [->(m) { m.duration_nanos = 0 }, "no duration_nanos"]
    }.each do |name, (change, text)|
      it "points at #{name}" do
        expect(violations_of { |message| instance_exec(message, &change) }).to include(match(text).or(eq(text)))
      end
    end

    def add_label(message, **fields) = message.sample.first.label << PprofMessages::WIRE["Label"].new(**fields)

    it "points at two series in a request" do
      pusher.send_body(RawPush.request([[labels, good.gzip], [labels, good.gzip]]))
      expect(pyroscope.violations).to include("2 series in one request")
    end
  end

  describe "in a process of its own" do
    let(:pyroscope) { FakePyroscope::Remote.new }

    it "does the same" do
      pyroscope.fault(down: "refuse")
      expect { push }.to raise_error(Errno::ECONNREFUSED)
      pyroscope.fault
      expect(push.status).to eq(200)
      expect(pyroscope.received.first).to have_attributes(labels: labels.to_a, time_nanos: good.message.time_nanos, accepted?: true)
      expect([pyroscope.violations, pyroscope.requests]).to eq([[], 1])
      expect { pyroscope.fault(nonsense: 1) }.to raise_error(ArgumentError, /nonsense/)
    end
  end
end

RSpec.describe FakePyroscope::RateBucket do
  subject(:bucket) { described_class.new(rate: 100, burst: 1000, clock: -> { @now || 0 }) }

  it "gives its burst, and then what has been refilled" do
    bucket.take(1000)
    expect { bucket.take(1) }.to raise_error(FakePyroscope::Refusal, /push rate limit/)
    @now = 5
    bucket.take(500)
    expect { bucket.take(1) }.to raise_error(FakePyroscope::Refusal)
  end

  it "never holds more than its burst" do
    @now = 1000
    expect { bucket.take(1001) }.to raise_error(FakePyroscope::Refusal)
    bucket.take(1000)
  end
end

RSpec.describe FakeBackend::Selector do
  labels = { "service_name" => "shop", "endpoint" => 'GET /"x", y' }

  {
    '{}' => true, '{service_name="shop"}' => true, '{service_name="sho"}' => false, '{service_name=~"sh.*"}' => true,
    '{service_name=~"sh"}' => false, '{service_name!="shop"}' => false, '{job=""}' => true, '{service_name!~"x|y"}' => true,
    '{ endpoint="GET /\"x\", y", service_name="shop" }' => true, '{service_name="shop", job!=""}' => false
  }.each do |text, matches|
    it "#{matches ? "matches" : "does not match"} with #{text}" do
      expect(described_class.new(text).match?(labels)).to be(matches)
    end
  end

  it "refuses what it cannot read" do
    expect { described_class.new("{service_name}") }.to raise_error(FakePyroscope::Refusal)
  end
end
