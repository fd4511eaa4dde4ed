# frozen_string_literal: true

require "json"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope"

# What clients ask for and nobody serves: one endpoint, whatever they think of.
RSpec.describe "Requests that end in 404", :once, :waiting, :short do
  program = <<~RUBY
    require "rperf_push/rack"
    def work = sleep(0.03) # for longer than a period, so that it is an event of its own and not left to chance
    $there = ["/", "/cart"]
    app = lambda do |env|
      path = env["PATH_INFO"]
      path.end_with?(".php") ? RperfPush.label(tenant: "acme") { work } : work
      env["sinatra.route"] = "GET /posts/:slug" if path.start_with?("/posts/")
      [$there.include?(path) ? 200 : 404, {}, []]
    end
    middleware = RperfPush::RackMiddleware.new(app)
    get = ->(path) { middleware.call("REQUEST_METHOD" => "GET", "PATH_INFO" => path) }
    RperfPush.configure! do |config|
      config.application_name = "shop"
      config.server_address = ENV.fetch("SERVER")
      config.upload_interval = 1800
    end
    ["/", "/cart", "/posts/none", "/later", *(1..10).map { |number| "/word\#{(96 + number).chr * 3}.php" }].each(&get)
    RperfPush.flush(timeout: 20)
    $there << "/later"
    2.times { get.("/later") }
    RperfPush.shutdown
    puts JSON.generate(RperfPush.stats)
  RUBY

  it "are one endpoint, unless a router knows them; and what is there later has its name" do
    fake_server = FakePyroscope.new
    out, log, status = run_ruby(program, env: { "SERVER" => fake_server.url }, arguments: ["-rjson"])
    raise log unless status.success?

    client = PyroscopeClient.new(fake_server.url)
    endpoints = client.label_values("endpoint", "{}")
    expect(client.label_values("tenant", "{}")).to eq(["acme"])
    expect(endpoints).to contain_exactly("GET /", "GET /cart", "GET /posts/none", "unrouted", "GET /later")
    of_none = client.total(PyroscopeClient::WALL, '{service_name="shop", endpoint="unrouted"}')
    expect(of_none).to be >= 0.33e9 # 11 of 30 ms
    expect(client.total(PyroscopeClient::WALL, "{}")).to eq(JSON.parse(out)["wall_ns_encoded"])
  ensure
    fake_server&.stop
  end
end
