# frozen_string_literal: true

require "rperf_push/rack"
require "rack"
require "rack/test"

RSpec.describe RperfPush::Endpoint, :interpreted, :text, :short, :quick do
  {
    "/" => "/", "" => "/", "/users" => "/users", "/users/" => "/users", "//users" => "/users", "/users/42" => "/users/:id",
    "/users/42/posts/2024-12-31" => "/users/:id/posts/:id",
    "/orders/550e8400-e29b-41d4-a716-446655440000" => "/orders/:uuid", "/orders/550E8400-E29B-41D4-A716-446655440000.pdf" => "/orders/:uuid.pdf",
    "/commits/deadbeef12" => "/commits/:id", "/commits/#{"abcdef" * 6}" => "/commits/:id",
    "/sessions/Zm9vYmFyMTIzNDU2Nzg5MA" => "/sessions/:id",
    "/posts/42-how-to-profile" => "/posts/:id", "/orders/42.json" => "/orders/:id.json", "/orders.json" => "/orders.json",
    "/assets/application-3f2a4b5c6d7e8f901234.css" => "/assets/:id.css",
    "/api/v2/oauth2/token" => "/api/v2/oauth2/token", "/things:batchGet" => "/things:batchGet", "/decade/facade" => "/decade/facade",
    "/people/ada@example.com" => "/people/:id", "/caf%C3%A9" => "/:id", "/caf\u00e9" => "/:id", "/a\xFFb" => "/:id",
    "/#{"word" * 20}" => "/:id", "/a/b/c/d/e/f/g/h/i/j" => "/a/b/c/d/e/f/g/h/..."
  }.each do |path, route|
    it "names #{path.inspect} #{route}" do
      expect(described_class.route(path)).to eq(route)
    end
  end

  it "stays short and few, whatever is asked for" do
    random = Random.new(1)
    routes = Array.new(2_000) { described_class.route("/files/#{random.bytes(random.rand(1..200)).delete("/")}") }
    expect(routes.map(&:bytesize).max).to be < 100
    digests = Array.new(2_000) { described_class.route("/files/#{random.bytes(10).unpack1("H*")}") }
    expect(digests.uniq).to eq(["/files/:id"])
  end

  it "takes the router's template where there is one" do
    get = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/posts/how-to" }
    expect(described_class.of(get.merge("sinatra.route" => "GET /posts/:slug"))).to eq("GET /posts/:slug")
    expect(described_class.of(get.merge("action_dispatch.route_uri_pattern" => "/posts/:slug(.:format)"))).to eq("GET /posts/:slug")
    route = Struct.new(:path).new("/posts/:slug(.json)")
    expect(described_class.of(get.merge("grape.routing_args" => { route_info: route }))).to eq("GET /posts/:slug")
  end

  it "does not let clients invent methods" do
    expect(described_class.of("REQUEST_METHOD" => "BREW", "PATH_INFO" => "/pot")).to eq("OTHER /pot")
  end

  it "counts the mount point in" do
    expect(described_class.of("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/api", "PATH_INFO" => "/users/1")).to eq("GET /api/users/:id")
  end
end

RSpec.describe RperfPush::RackMiddleware do
  include Rack::Test::Methods

  include_context "while profiling runs"

  let(:options) { {} }
  let(:seen) { [] }
  let(:inner) { ->(_env) { seen << RperfPush.labels; [200, { "content-type" => "text/plain" }, ["ok"]] } }
  let(:app) do
    middleware = described_class.new(inner, **options)
    Rack::Lint.new(middleware)
  end

  it "labels what happens inside a request, and nothing after it" do
    get "/users/42"
    post "/orders"
    expect(seen).to eq([{ endpoint: "GET /users/:id" }, { endpoint: "POST /orders" }])
    expect(RperfPush.labels).to eq({})
  end

  it "lays its label over those that are there" do
    RperfPush.label(tenant: "acme") { get "/" }
    expect(seen).to eq([{ tenant: "acme", endpoint: "GET /" }])
  end

  context "with another key" do
    let(:options) { { label_key: "route" } }

    it "uses it" do
      get "/users/42"
      expect(seen).to eq([{ route: "GET /users/:id" }])
    end
  end

  context "with the raw path" do
    let(:options) { { label: :raw } }

    it "keeps it" do
      get "/users/42"
      expect(seen).to eq([{ endpoint: "GET /users/42" }])
    end
  end

  context "with a block of the application's own" do
    let(:options) { { label: ->(env) { env["QUERY_STRING"] == "" ? nil : :own } } }

    it "takes its answer, or leaves the label away" do
      get "/?a=1"
      get "/"
      expect(seen).to eq([{ endpoint: "own" }, {}])
    end
  end

  context "when the name can not be had" do
    let(:options) { { label: ->(_env) { raise "no" } } }

    it "serves the request all the same" do
      get "/"
      expect(last_response.body).to eq("ok")
      expect(seen).to eq([{}])
    end
  end

  context "when there are too many labels already" do
    let(:many) { (1..64).to_h { |number| [:"label_#{number}", number] } }

    it "serves the request once, with theirs" do
      RperfPush.label(**many) { get "/" }
      expect(last_response.body).to eq("ok")
      expect(seen.map(&:size)).to eq([64])
    end

    it "keeps the application's errors as they are" do
      failing = described_class.new(->(_env) { raise IOError, "mine" })
      RperfPush.label(**many) do
        expect { failing.call(Rack::MockRequest.env_for("/")) }
          .to raise_error(an_instance_of(IOError).and(having_attributes(message: "mine", cause: nil)))
      end
    end
  end

  it "lets the application's errors and throws through, and restores the labels" do
    failing = described_class.new(->(_env) { raise IOError, "mine" })
    throwing = described_class.new(->(_env) { throw :async, 1 })
    env = Rack::MockRequest.env_for("/")
    expect { failing.call(env) }.to raise_error(IOError, "mine")
    expect(catch(:async) { throwing.call(env) }).to eq(1)
    expect(RperfPush.labels).to eq({})
  end

  it "hands the very response through, so that bodies stream as they did" do
    response = [200, {}, Enumerator.new { |chunks| chunks << "a" }]
    expect(described_class.new(->(_env) { response }).call(Rack::MockRequest.env_for("/"))).to equal(response)
  end
end
