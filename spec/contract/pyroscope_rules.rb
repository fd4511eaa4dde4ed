# frozen_string_literal: true

require "securerandom"
require "stringio"
require_relative "../support/pprof_builder"
require_relative "../support/pyroscope_client"
require_relative "../support/raw_push"

# What Pyroscope (2.x, storage v2, its default limits) does with pushes. Needs `url`, and `default_limits` where the
# server is known to have them. The fake server must answer as the real server does, or it proves nothing.
RSpec.shared_examples "a Pyroscope" do
  cpu = PyroscopeClient::CPU
  wall = PyroscopeClient::WALL

  let(:pusher) { RawPush.new(url) }
  let(:client) { PyroscopeClient.new(url) }
  let(:service) { "contract-#{SecureRandom.hex(6)}" } # a server with a history must not matter
  let(:selector) { PyroscopeClient.service(service) }
  let(:labels) { { "__name__" => "process_cpu", "service_name" => service, "__delta__" => "false" } }
  let(:good) { builder.sample(%w[Shop#work Shop#main], [10, 20]) }

  def builder(**) = PprofBuilder.new(**)

  def push(profile = good, series = labels) = pusher.push(profile.is_a?(String) ? profile : profile.gzip, series)

  def types = client.profile_types(selector).sort

  matcher :be_taken do
    match { |answer| answer.status == 200 && answer.body.empty? }
  end

  matcher :be_refused do |status, code, message = //|
    match { |answer| answer.status == status && answer.code == code && message.match?(answer.message) }
  end

  def be_invalid(message) = be_refused(400, "invalid_argument", message)

  describe "HTTP" do
    let(:body) { RawPush.request([[labels, good.gzip]]) }

    it "takes a push, says nothing, and has it readable at once" do
      answer = push
      expect(answer).to be_taken
      expect(answer.content_type).to eq("application/proto")
      expect(client.total(cpu, selector)).to eq(10)
    end

    it "is ready" do
      expect(client).to be_ready
    end

    it "takes a profile that is not gzipped" do
      expect(push(good.bytes)).to be_taken
      expect(client.total(wall, selector)).to eq(20)
    end

    it "takes JSON" do
      answer = pusher.send_body(RawPush.json_request([[labels, good.gzip]]), content_type: "application/json")
      expect([answer.status, answer.body]).to eq([200, "{}"])
      expect(client.total(cpu, selector)).to eq(10)
    end

    it "answers with gzip what came with gzip" do
      answer = pusher.send_body(Zlib.gzip(body), "Content-Encoding": "gzip", "Accept-Encoding": "identity")
      expect([answer.status, answer.headers["Content-Encoding"]]).to eq([200, "gzip"])
      expect(client.total(cpu, selector)).to eq(10)
    end

    it "takes chunks, and tells who expects it to continue" do
      uri = URI(url)
      request = Net::HTTP::Post.new(uri.path + RawPush::PATH, "Content-Type" => "application/proto",
                                                              "Transfer-Encoding" => "chunked", "Expect" => "100-continue")
      request.body_stream = StringIO.new(body)
      answer = Net::HTTP.start(uri.host, uri.port) { |http| http.request(request) }
      expect([answer.code, client.total(cpu, selector)]).to eq(["200", 10])
    end

    it "wants the content type and nothing after it" do
      ["application/proto; charset=utf-8", "application/octet-stream", "text/plain"].each do |content_type|
        answer = pusher.send_body(body, content_type:)
        expect([answer.status, answer.body]).to eq([415, ""])
      end
    end

    it "knows POST only" do
      answer = pusher.send_body(nil, verb: :Put)
      expect([answer.status, answer.body]).to eq([405, ""])
    end

    it "redirects from a path with two slashes" do
      expect(pusher.send_body(body, path: "/#{RawPush::PATH}").status).to eq(301)
    end

    it "does not find another procedure" do
      answer = pusher.send_body(body, path: "/push.v1.PusherService/Pull")
      expect([answer.status, answer.content_type]).to match([404, start_with("text/plain")])
    end
  end

  describe "labels of a series" do
    it "needs __name__" do
      expect(push(good, labels.except("__name__"))).to be_invalid(/invalid metric name/)
    end

    it "names a service that has no name" do
      run = SecureRandom.hex(6)
      expect(push(good, { "__name__" => "process_cpu", "run" => run })).to be_taken
      expect(client.label_values("service_name", "{run=\"#{run}\"}")).to eq(["unknown_service"])
    end

    it "refuses an empty service_name" do
      expect(push(good, labels.merge("service_name" => ""))).to be_invalid(//)
    end

    it "refuses a name twice" do
      expect(push(good, [*labels.to_a, %w[env a], %w[env b]])).to be_invalid(/duplicate label name/)
    end

    it "takes 30 names and no more, those of the samples included" do
      many = (1..(30 - labels.size - 1)).to_h { |number| ["label_#{number}", "x"] }
      expect(push(good.sample(%w[a], [1, 1], "endpoint" => "GET /"), labels.merge(many))).to be_taken
      expect(push(good, labels.merge(many, "more" => "x"))).to be_invalid(/has 31 label names; limit 30/)
    end

    it "takes a name of 1024 bytes and a value of 2048" do
      expect(push(good, labels.merge("n" * 1024 => "v" * 2048))).to be_taken
      expect(push(good, labels.merge("n" * 1025 => "v"))).to be_invalid(/label name too long/)
      expect(push(good, labels.merge("n" => "v" * 2049))).to be_invalid(/label value too long/)
    end

    it "refuses a request that is not UTF-8" do
      body = RawPush.request([[labels.merge("env" => "XXXX"), good.gzip]]).sub("XXXX".b, "\xFF\xFE\xFD\xFC".b)
      expect(pusher.send_body(body)).to be_invalid(//)
    end

    it "takes any other UTF-8 name and hides it from the list" do
      profile = builder.sample(%w[a], [1, 2], "%GVL" => "wait", "gvl_state" => "wait")
      expect(push(profile, labels.merge("größe" => "1"))).to be_taken
      expect(client.label_names(selector)).to include("service_name", "gvl_state")
      expect(client.label_names(selector)).not_to include("%GVL", "größe")
    end
  end

  describe "profiles" do
    def broken
      good.message.then { |message| yield message }
      push
    end

    it "answers 500 to what it cannot decode" do
      expect(push("no profile")).to be_refused(500, "unknown")
      expect(push("\x1F\x8Bno gzip".b)).to be_refused(500, "unknown")
    end

    it "takes the last hour and the next ten minutes" do
      now = Time.now.to_i
      { now - 3500 => true, now + 550 => true, now - 3700 => false, now + 700 => false }.each do |seconds, taken|
        profile = builder(time_nanos: seconds * 1_000_000_000).sample(%w[a], [1, 1])
        expect(push(profile)).to taken ? be_taken : be_invalid(/outside of ingestion window/)
      end
    end

    it "dates a profile without time to now" do
      from = Time.now - 5
      expect(push(builder(time_nanos: 0).sample(%w[a], [7, 1]))).to be_taken
      expect(client.total(cpu, selector, from:, to: Time.now + 5)).to eq(7)
    end

    it "refuses location and function ids of 0" do
      expect(broken { |message| message.location.first.id = 0 }).to be_invalid(/location id is 0/)
      good.message.location.first.id = 1
      expect(broken { |message| message.function.first.id = 0 }).to be_invalid(/function id is 0/)
    end

    it "refuses strings that are not UTF-8, used or not" do
      expect(broken { |message| message.string_table << "\xFF\xFE".b }).to be_invalid(/invalid utf8 string/)
    end

    it "refuses a string table that does not begin with the empty string" do
      expect(broken { |message| message.string_table[0] = "x".b }).to be_invalid(/string 0 should be empty/)
    end

    it "refuses a number of values that is not that of the types" do
      expect(push(builder.sample(%w[a], [1]))).to be_invalid(/sample value length mismatch/)
    end

    it "refuses a profile without types" do
      expect(broken { |message| message.sample_type.clear }).to be_invalid(/empty profile/)
    end

    it "refuses a - in a sample type" do
      expect(push(builder(types: [%w[off-cpu nanoseconds]]).sample(%w[a], [1]))).to be_invalid(/sample type contains -/)
    end

    it "takes 16,000 samples and no more" do
      16_000.times { |number| good.sample(%w[a b], [number, 1]) }
      expect(push).to be_invalid(/samples count limit/)
      good.message.sample.pop
      expect(push).to be_taken
    end

    it "takes 100 labels a sample and no more, numbers included" do
      expect(push(builder.sample(%w[a], [1, 1], (1..100).to_h { |number| ["n#{number}", number] }))).to be_taken
      expect(push(builder.sample(%w[a], [1, 1], (1..101).to_h { |number| ["n#{number}", number] }))).to be_invalid(/sample labels limit/)
    end

    it "refuses more than 4 MiB, however well compressed" do
      good.string("x" * 5 * 1024 * 1024)
      expect(push).to be_invalid(/exceeds/)
    end

    it "answers 429 for ever to more than its burst of 2 MiB" do
      skip "its limits are not known" unless default_limits
      good.string("x" * 2 * 1024 * 1024)
      expect(push).to be_refused(429, "resource_exhausted")
      sleep 1.1
      expect(push).to be_refused(429, "resource_exhausted")
    end

    it "takes a profile without anything in it, and keeps nothing" do
      expect(push(builder)).to be_taken
      expect(push(builder.sample(%w[a], [0, 0]))).to be_taken
      expect(types).to be_empty
    end

    it "cuts stacks of more than 1000 frames at the leaf" do
      expect(push(builder.sample((1..1001).map { |number| "m#{number}" }, [1, 1]))).to be_taken
      names = client.select_merge_profile(cpu, selector).function_names
      expect([names.size, names.include?("m1"), names.include?("m1001")]).to eq([1000, false, true])
    end

    it "drops samples with a negative value" do
      expect(push(good.sample(%w[a], [-5, 100]))).to be_taken
      expect([client.total(cpu, selector), client.total(wall, selector)]).to eq([10, 20])
    end

    it "does not show samples without location" do
      expect(push(good.sample([], [5, 5]))).to be_taken
      expect(client.select_merge_stacktraces(cpu, selector)[:total]).to eq(10)
    end

    it "keeps the good series of a request that it refuses" do
      body = RawPush.request([[labels, good.gzip], [labels.except("__name__"), good.gzip]])
      expect(pusher.send_body(body)).to be_invalid(/invalid metric name/)
      expect(client.total(cpu, selector)).to eq(10)
    end
  end

  describe "reading back" do
    it "has a profile type for each sample type" do
      push
      expect(types).to eq([cpu, wall])
      expect(client.profile_types).to include(cpu, wall)
    end

    it "does not list a type that is always zero" do
      push(builder.sample(%w[a], [0, 3]))
      expect(types).to eq([wall])
    end

    it "sums two types of one name" do
      push(builder(types: [%w[cpu nanoseconds], %w[cpu nanoseconds]]).sample(%w[a], [1, 2]))
      expect(client.total(cpu, selector)).to eq(3)
    end

    it "sums two profiles of the same time" do
      2.times { expect(push).to be_taken }
      expect([client.total(cpu, selector), client.total(wall, selector)]).to eq([20, 40])
    end

    it "makes a series of each set of text labels, and no label of a number" do
      push(builder.sample(%w[a b], [1, 10], "endpoint" => "GET /", "thread_seq" => 1)
                  .sample(%w[c b], [2, 20], "endpoint" => "GET /", "thread_seq" => 2)
                  .sample(%w[a b], [4, 40], "endpoint" => "POST /"))
      expect(client.label_names(selector)).to include("endpoint").and(not_include("thread_seq"))
      expect(client.label_values("endpoint", selector)).to contain_exactly("GET /", "POST /")
      expect(client.series(selector, names: ["endpoint"])).to contain_exactly({ "endpoint" => "GET /" }, { "endpoint" => "POST /" })
      expect(client.total(wall, PyroscopeClient.service(service, endpoint: "GET /"))).to eq(30)
      expect(client.total(wall, "{service_name=\"#{service}\", endpoint=~\"P.*\"}")).to eq(40)
    end

    it "loses a sample's label where the series has one of that name" do
      push(builder.sample(%w[a], [1, 1], "env" => "sample"), labels.merge("env" => "series"))
      expect(client.label_values("env", selector)).to eq(["series"])
    end

    it "takes the first of a key that is there twice, and an empty text as none" do
      push(builder.sample(%w[a], [1, 1], [%w[job first], %w[job second], ["queue", ""]]))
      expect(client.label_values("job", selector)).to eq(["first"])
      expect(client.label_names(selector)).not_to include("queue")
    end

    it "keeps a span with its samples, and makes no series of it" do
      push(good.sample(%w[a], [1, 1], "span_id" => "00f067aa0ba902b7"))
      expect(client.label_names(selector)).not_to include("span_id")
      expect(client.total(cpu, selector)).to eq(11)
    end

    it "merges profiles with names, files and lines" do
      push
      profile = client.select_merge_profile(wall, selector)
      leaf = profile.samples.first.stack.first
      expect(profile.sample_types).to eq([%w[wall nanoseconds]])
      expect(leaf.to_a.first(4)).to eq(["Shop#work", "app.rb", 2, 1])
      expect(profile.by_method).to eq("Shop#work" => [20, 20], "Shop#main" => [0, 20])
    end

    it "merges profiles into protobuf too" do
      push
      query = PyroscopeMessages::QUERIER["SelectMergeProfileRequest"]
      now = Time.now.to_i
      request = query.new(profile_typeID: cpu, label_selector: selector, start: (now - 60) * 1000, end: (now + 60) * 1000)
      answer = pusher.send_body(query.encode(request), path: "/querier.v1.QuerierService/SelectMergeProfile")
      profile = PprofProfile.from_bytes(answer.body)
      expect([profile.total("cpu"), profile.function_names]).to eq([10, %w[Shop#main Shop#work]])
    end

    it "draws flame graphs" do
      push(good.sample(%w[Shop#idle Shop#main], [5, 5]))
      graph = client.select_merge_stacktraces(cpu, selector)
      expect(graph).to include(total: 15, max_self: 10, names: include("total", "Shop#main", "Shop#work", "Shop#idle"))
      expect(graph[:levels].first(2).map { |level| level[0, 3] }).to eq([[0, 15, 0], [0, 15, 0]])
      expect(graph[:levels][2].each_slice(4).map { |bar| bar[0, 3] }).to contain_exactly([0, 10, 10], [0, 5, 5])
    end

    it "draws values over time" do
      push(good.sample(%w[a], [1, 1], "endpoint" => "GET /"))
      found = client.select_series(cpu, selector, step: 60, group_by: ["endpoint"])
      sums = found.to_h { |series| [series[:labels]["endpoint"].to_s, series[:points].sum(&:last)] }
      expect(sums).to eq("" => 10, "GET /" => 1)
    end

    it "wants to know the time" do
      answer = pusher.send_body(JSON.generate(name: "env"), path: "/querier.v1.QuerierService/LabelValues",
                                                            content_type: "application/json")
      expect(answer).to be_invalid(/missing time range/)
    end
  end
end

RSpec::Matchers.define_negated_matcher :not_include, :include
