# frozen_string_literal: true

require "fileutils"
require "json"

# The endpoint of a request, as applications of each framework see it while they answer. Each in a process of its own, as they
# change too much of the one they are loaded into.
RSpec.describe "The endpoint of a request", :once, :waiting do
  ask = <<~'RUBY'
    require "rack"
    require "json"
    # Serves each "METHOD /path" with the application; what its handlers have seen, else what was there at its end.
    def endpoints(app, *requests)
      seen = requests.to_h do |request|
        verb, path = request.split(" ", 2)
        $seen = nil
        watched = ->(env) { app.call(env).tap { $seen ||= "after: #{RperfPush.labels[:endpoint].inspect}" } }
        $outer = watched
        [request, (Rack::MockRequest.new(Around.call(watched)).request(verb, path); $seen)]
      end
      leaks = RperfPush.labels
      puts JSON.generate(seen.merge("afterwards" => leaks))
    end
    def see = ($seen = RperfPush.labels[:endpoint]).to_s
  RUBY
  with_middleware = "Around = ->(app) { RperfPush::RackMiddleware.new(app) }\n"
  profiled = "RperfPush.configure!\n"

  define_method(:endpoints_in) do |code|
    env = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir, "SHOP_ROOT" => tmpdir }
    out, err, status = run_ruby([ask, code].join("\n"), env:, timeout: 120, gems: true)
    expect(status).to be_success, err
    JSON.parse(out.lines.last).tap { |seen| expect(seen.delete("afterwards")).to eq({}) }
  end

  it "is the route in Sinatra, with what it is mounted at" do
    seen = endpoints_in(<<~RUBY)
      require "sinatra/base"
      require "rperf_push/rack"
      #{with_middleware}#{profiled}
      class Base < Sinatra::Base
        set :host_authorization, {}
        get("/inherited/:id") { see }
      end
      class Shop < Base
        set(:raise_errors, true)
        before { RperfPush.labels }
        get("/users/:name") { pass if params[:name] == "ada"; see }
        get("/users/*") { see }
        post("/users/?:id?") { see }
        get(%r{/v(\\d+)/status}) { see }
      end
      app = Rack::Builder.new { map("/shop") { run Shop }; map("/") { run Shop } }.to_app
      endpoints(app, "GET /users/bob", "GET /users/ada", "POST /users", "GET /v3/status", "GET /inherited/7",
                "GET /shop/users/bob", "GET /wp-login.php", "GET /profile/ada.lovelace")
    RUBY
    expect(seen).to eq(
      "GET /users/bob" => "GET /users/:name", "GET /users/ada" => "GET /users/*", "POST /users" => "POST /users/?:id?",
      "GET /v3/status" => "GET /v(\\d+)/status", "GET /inherited/7" => "GET /inherited/:id",
      "GET /shop/users/bob" => "GET /shop/users/:name", "GET /wp-login.php" => 'after: "unrouted"',
      "GET /profile/ada.lovelace" => 'after: "unrouted"'
    )
  end

  it "is the route in Grape, with prefix and version" do
    seen = endpoints_in(<<~RUBY)
      require "grape"
      require "rperf_push/rack"
      #{with_middleware}#{profiled}
      class Api < Grape::API
        version "v2", using: :path
        prefix :api
        format :json
        resource :users do
          before { RperfPush.labels }
          get { { e: see } }
          route_param(:name) { get(:orders) { { e: see } } }
        end
      end
      endpoints(Rack::Builder.new { run Api }.to_app, "GET /api/v2/users", "GET /api/v2/users/ada/orders", "GET /api/v2/nothing", "GET /ada")
    RUBY
    expect(seen).to eq(
      "GET /api/v2/users" => "GET /api/v2/users", "GET /api/v2/users/ada/orders" => "GET /api/v2/users/:name/orders",
      "GET /api/v2/nothing" => 'after: "unrouted"', "GET /ada" => 'after: "unrouted"'
    )
  end

  { "" => "as it is", "App.freeze" => "frozen, as in production" }.each do |freeze, title|
    it "is the branch in Roda's tree, #{title}" do
      seen = endpoints_in(<<~RUBY)
        require "roda"
        require "rperf_push/rack"
        RperfPush::Routers.hook
        #{with_middleware}#{profiled}
        class Inner < Roda
          route { |r| r.get("things", Integer) { see } }
        end
        class App < Roda
          plugin :hash_branches
          hash_branch("admin") { |r| r.get("users", Integer) { |id| see } }
          route do |r|
            r.hash_branches("")
            r.root { see }
            r.on("users") do
              r.is { see }
              r.is(Integer) { |id| raise unless id == 42; r.get { see } }
              r.on(String) { |name| raise unless name == "ada"; r.get("orders", /(\\d{4})/) { |year| raise unless year == "2024"; see } }
            end
            r.get(%w[about contact]) { |page| see }
            r.get(:slug, "comments") { |slug| see }
            r.on("inner", String) { |tenant| r.run Inner.app }
          end
        end
        #{freeze}
        endpoints(App.app, "GET /", "GET /users", "GET /users/42", "GET /users/ada/orders/2024", "GET /contact", "GET /x/comments",
                  "GET /inner/acme/things/1", "GET /nothing", "GET /users/ada/secret", "GET /admin/users/1")
      RUBY
      expect(seen).to eq(
        "GET /" => "GET /", "GET /users" => "GET /users", "GET /users/42" => "GET /users/:integer",
        "GET /users/ada/orders/2024" => "GET /users/:string/orders/(\\d{4})", "GET /contact" => "GET /contact",
        "GET /x/comments" => "GET /:slug/comments", "GET /inner/acme/things/1" => "GET /inner/:string/things/:integer",
        "GET /nothing" => 'after: "unrouted"', "GET /users/ada/secret" => 'after: "GET /users/:string"',
        "GET /admin/users/1" => "GET /admin/users/:integer"
      )
    end
  end

  it "is the route in Hanami's router" do
    seen = endpoints_in(<<~RUBY)
      require "hanami/router"
      require "rperf_push/rack"
      answer = ->(env) { [200, {}, [see]] }
      app = Hanami::Router.new do
        root to: answer
        get "/about", to: answer
        get "/users/:name", to: answer
        get "/files/*path", to: answer
        scope("api") { post "things/:id/parts", to: answer }
        mount Hanami::Router.new { get "/things/:id", to: answer }, at: "/tenants/:tenant"
        mount answer, at: "/rack"
      end
      #{with_middleware}#{profiled}
      endpoints(app, "GET /", "GET /about", "GET /users/ada", "GET /files/ada/cv.pdf", "POST /api/things/7/parts",
                "GET /tenants/acme/things/1", "GET /rack/ada", "GET /ada", "POST /about")
    RUBY
    expect(seen).to eq(
      "GET /" => "GET /", "GET /about" => "GET /about", "GET /users/ada" => "GET /users/:name",
      "GET /files/ada/cv.pdf" => "GET /files/*path", "POST /api/things/7/parts" => "POST /api/things/:id/parts",
      "GET /tenants/acme/things/1" => "GET /tenants/:tenant/things/:id", "GET /rack/ada" => "GET /rack",
      "GET /ada" => 'after: "unrouted"', "POST /about" => 'after: "unrouted"'
    )
  end

  it "is the route in Hanami, also of its slices" do
    files = {
      "config/app.rb" => <<~RUBY,
        require "hanami"
        require "rperf_push/rack"
        class After
          def initialize(app) = @app = app
          def call(env) = @app.call(env).tap { $seen ||= "after: \#{RperfPush.labels[:endpoint].inspect}" }
        end
        module Shop
          class App < Hanami::App
            config.root = ENV.fetch("SHOP_ROOT")
            config.logger.stream = File::NULL
            config.middleware.use RperfPush::RackMiddleware
            config.middleware.use After
          end
        end
      RUBY
      "config/routes.rb" => <<~RUBY,
        module Shop
          class Routes < Hanami::Routes
            root to: ->(env) { [200, {}, [see]] }
            get "/users/:name", to: "users.show"
            slice(:admin, at: "/admin") { get "/orders/:id", to: "orders.show" }
          end
        end
      RUBY
      "app/actions/users/show.rb" => "module Shop::Actions::Users; class Show < Hanami::Action; def handle(_, response) = response.body = see; end; end",
      "slices/admin/actions/orders/show.rb" => "module Admin::Actions::Orders; class Show < Hanami::Action; def handle(_, response) = response.body = see; end; end"
    }
    files.each { |path, text| FileUtils.mkdir_p(File.dirname("#{tmpdir}/#{path}")) && File.write("#{tmpdir}/#{path}", text) }
    seen = endpoints_in(<<~RUBY)
      require "hanami/controller"
      load File.join(ENV.fetch("SHOP_ROOT"), "config/app.rb")
      Around = ->(app) { app }
      #{profiled}
      Hanami.boot
      endpoints(Hanami.app, "GET /", "GET /users/ada", "GET /admin/orders/7", "GET /ada")
    RUBY
    expect(seen).to eq("GET /" => "GET /", "GET /users/ada" => "GET /users/:name", "GET /admin/orders/7" => "GET /admin/orders/:id",
                       "GET /ada" => 'after: "unrouted"')
  end

  it "is the route in Rails, also of engines and of what is mounted, without a middleware" do
    seen = endpoints_in(<<~RUBY)
      require "action_controller/railtie"
      require "sinatra/base"
      Around = ->(app) { app }
      #{RailsShop::CODE}
      class Shop
        config.consider_all_requests_local = false
        config.middleware.unshift(Class.new do
          def initialize(app) = @app = app
          def call(env) = @app.call(env).tap { $seen ||= "after: \#{RperfPush.labels[:endpoint].inspect}" }
        end)
      end
      module Blog
        class Engine < Rails::Engine
          isolate_namespace Blog
          config.root = File.join(ENV.fetch("SHOP_ROOT"), "blog")
        end
        class PostsController < ActionController::Base
          def show = render(plain: see)
        end
      end
      class StoriesController < ActionController::Base
        def show = render(plain: see)
        def fail = raise("on purpose")
      end
      class Web < Sinatra::Base
        set :host_authorization, {}
        get("/queues/:name") { see }
      end
      #{profiled}
      Shop.initialize!
      Blog::Engine.routes.draw { get "posts/:slug", to: "posts#show"; root to: "posts#show" }
      Shop.routes.draw do
        get "s/:id(/:title)", to: "stories#show"
        get "fail/:id", to: "stories#fail"
        get "old/:id", to: redirect("/s/%{id}")
        get "only/:id", to: "stories#show", constraints: ->(request) { request.path_parameters[:id] == "1" }
        scope("/orgs/:org") { mount Blog::Engine => "/blog" }
        get "(projects/:id)/search", to: "stories#show"
        scope("(:locale)", locale: /de|fr/) do
          get "shelves/:id", to: "stories#show"
          mount Blog::Engine => "/news", as: :news
          root to: "stories#show"
        end
        mount Web => "/sidekiq", constraints: ->(request) { request.query_string != "no" }
        mount ->(env) { see; [200, {}, ["ok"]] } => "/rack"
      end
      endpoints(Shop, "GET /s/abc", "GET /s/abc/a-title.json", "HEAD /s/abc", "GET /orgs/acme/blog", "GET /orgs/acme/blog/posts/ada",
                "GET /sidekiq/queues/low", "GET /sidekiq/queues/low?no", "GET /rack/anything", "GET /old/7", "GET /only/1", "GET /only/2",
                "GET /~ada", "GET /fail/1", "GET /orgs/acme/blog/ada", "GET /search", "GET /projects/7/search", "GET /de/shelves/7",
                "GET /shelves/7", "GET /fr/news/posts/ada", "GET /de", "GET /")
    RUBY
    expect(seen).to eq(
      "GET /s/abc" => "GET /s/:id(/:title)", "GET /s/abc/a-title.json" => "GET /s/:id(/:title)", "HEAD /s/abc" => "HEAD /s/:id(/:title)",
      "GET /orgs/acme/blog" => "GET /orgs/:org/blog", "GET /orgs/acme/blog/posts/ada" => "GET /orgs/:org/blog/posts/:slug",
      "GET /sidekiq/queues/low" => "GET /sidekiq/queues/:name", "GET /sidekiq/queues/low?no" => 'after: "unrouted"',
      "GET /rack/anything" => "GET /rack", "GET /old/7" => 'after: "GET /old/:id"', "GET /only/1" => "GET /only/:id",
      "GET /only/2" => 'after: "unrouted"', "GET /~ada" => 'after: "unrouted"', "GET /fail/1" => 'after: "GET /fail/:id"',
      "GET /orgs/acme/blog/ada" => 'after: "unrouted"', "GET /search" => "GET (/projects/:id)/search",
      "GET /projects/7/search" => "GET (/projects/:id)/search", "GET /de/shelves/7" => "GET (/:locale)/shelves/:id",
      "GET /shelves/7" => "GET (/:locale)/shelves/:id", "GET /fr/news/posts/ada" => "GET (/:locale)/news/posts/:slug",
      "GET /de" => "GET /(:locale)", "GET /" => "GET /(:locale)"
    )
  end
end
