# frozen_string_literal: true

require "json"
require "uri"
require_relative "../support/fake_backend/http_server"
require_relative "../support/pprof_profile"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope"

# The ways to a server that have no contract spec of their own.
RSpec.describe "A profiled program", :once, :waiting do
  # @param max_wait [Numeric] seconds for each flush
  def run(backend, url, name: "shop web", max_wait: 20, **env)
    settings = { "BACKEND" => backend, "SERVER_ADDRESS" => url, "APPLICATION_NAME" => name, "UPLOAD_INTERVAL" => "1800",
                 "TAGS" => "region=eu{1},zone=a b", **env.transform_keys(&:to_s) }
    out, log, status = run_ruby(<<~RUBY, env: settings.transform_keys { |key| "RPERF_PUSH_#{key}" }, arguments: ["-rjson"])
      RperfPush.configure!
      2.times do
        finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.25
        RperfPush.label(endpoint: "GET /") { Math.sqrt(rand) until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish }
        RperfPush.flush(timeout: #{max_wait})
      end
      RperfPush.shutdown
      puts JSON.generate(RperfPush.stats)
    RUBY
    raise log unless status.success?

    [JSON.parse(out), log]
  end

  describe "with pyroscope_ingest" do
    before { @fake_server = FakePyroscope.new(push: false) }
    after { @fake_server.stop }

    # A sample type called wall names the whole profile there.
    cpu, wall = PyroscopeClient::CPU, PyroscopeClient::WALL
    cpu, wall = [cpu, wall].map { |type| type.sub("process_cpu", "wall") }

    define_method(:expect_all_there) do |stats|
      client = PyroscopeClient.new(@fake_server.url)
      expect(stats["payloads_delivered"]).to eq(stats["payloads_created"]).and be >= 2
      expect(client.profile_types).to contain_exactly(cpu, wall)
      expect([client.total(cpu, "{}"), client.total(wall, "{}")]).to eq(stats.values_at("cpu_ns_encoded", "wall_ns_encoded"))
      expect(client.label_values("service_name", "{}")).to eq(["shop_web"])
      expect([client.label_values("zone", "{}"), client.label_values("region", "{}")]).to eq([["a b"], ["eu{1_"]])
      expect(client.label_values("endpoint", "{}")).to include("GET /")
      expect(@fake_server.violations).to eq([])
    end

    it "reaches a server that knows nothing else, with names and values that would end the address made harmless" do
      stats, log = run("pyroscope_ingest", @fake_server.url)
      expect_all_there(stats)
      expect([stats["uploads_failed"] + stats["uploads_retried"], log]).to eq([0, ""])
    end

    it "falls back to it from the push API when that is asked for" do
      stats, = run("pyroscope,pyroscope_ingest", @fake_server.url)
      expect_all_there(stats)
      expect(stats).to include("payloads_dropped_rejected" => 0)
    end

    it "does not when it is not asked for: windows wait for some minutes, and the log says why" do
      stats, log = run("pyroscope", @fake_server.url, max_wait: 2)
      expect(stats).to include("payloads_delivered" => 0, "payloads_dropped_shutdown" => stats["payloads_created"])
      expect(log.lines.first).to match(/upload to pyroscope failed: HTTP 404: .*; trying again/)
      expect(@fake_server.received).to eq([])
    end
  end

  describe "with http" do
    before do
      requests = @requests = []
      @answers = answers = []
      @server = FakeBackend::HttpServer.new do |request|
        requests << request
        FakeBackend::HttpAnswer.text(answers.shift || 204)
      end
    end

    after { @server.stop }

    it "sends what any receiver can read, and tries again what was refused for now" do
      @answers << 503
      stats, = run("http", "#{@server.url}/profiles?team=shop", HTTP_HEADERS: "X-Api-Key=secret")
      expect(stats).to include("payloads_delivered" => stats["payloads_created"], "uploads_retried" => 1)
      expect(@requests.map { |request| [request.verb, request.path, request.query] }.uniq).to eq([["POST", "/profiles", "team=shop"]])

      accepted = @requests.drop(1)
      profiles = accepted.map { |request| PprofProfile.from_bytes(request.body) }
      expect(profiles.sum { |profile| profile.total("cpu") }).to eq(stats["cpu_ns_encoded"])
      headers = accepted.map(&:headers)
      expect(headers).to all(include("content-type" => "application/octet-stream", "x-api-key" => "secret", "x-service-name" => "shop%20web",
                                     "x-profile-labels" => "region=eu%7B1%7D,zone=a%20b").and(satisfy { |all| !all.key?("content-encoding") }))
      expect(headers.map { |all| all["x-profile-time-nanos"].to_i }).to eq(profiles.map(&:time_nanos))
      expect(headers.map { |all| all["x-profile-duration-nanos"].to_i }).to eq(profiles.map(&:duration_nanos))
      expect(headers.map { |all| all["x-profile-sequence"].to_i }).to eq((1..accepted.size).to_a)
      expect(@requests.first.body).to eq(@requests[1].body)
    end
  end
end
