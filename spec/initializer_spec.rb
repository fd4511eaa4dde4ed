# frozen_string_literal: true

require "rperf_push"

RSpec.describe "config/initializers/rperf_push.rb", :interpreted, :waiting, :text do
  path = File.expand_path("../config/initializers/rperf_push.rb", __dir__)
  text = File.read(path)
  # name => "default as written", of the lines that are commented out
  defaults = text.scan(/^  # config\.(\w+) = (.+)$/).to_h

  it "shows every option once" do
    expect(text).not_to match(/^  config\.\w+ =/) # what is written there would go over the variables
    expect(defaults.keys).to match_array(RperfPush::Configuration::OPTIONS + ["logger"])
  end

  it "loads, and profiles" do
    out, err, status = run_ruby(<<~RUBY, env: { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir })
      load #{path.dump}
      print RperfPush.running?
      RperfPush.shutdown(timeout: 0)
    RUBY
    expect(status).to be_success, err
    expect(out).to eq("true")
  end

  it "is valid with every comment taken away" do
    whole = text.gsub(/^  # (?=config\.)/, "  ").sub("RperfPush.configure", "RperfPush.configure!")
    out, err, status = run_ruby("#{whole}\nprint RperfPush.running?", env: { "RPERF_PUSH_SERVER_ADDRESS" => "http://127.0.0.1:9" })
    expect(status).to be_success, err
    expect(out).to eq("true")
  end
end

# Rails in a process of its own: it changes too much of the one it is loaded into.
RSpec.describe "Rails" do
  boot = <<~'RUBY'
    require "action_controller/railtie"
    require "rails/generators"
    require "rack/mock"
  RUBY

  application = RailsShop::CODE + <<~'RUBY'
    Shop.initializer("profiling") { RperfPush.configure }
    module Admin
      class UsersController < ActionController::Base
        before_action { $before = RperfPush.labels.dup }
        def show = render(plain: RperfPush.labels.inspect)
      end
      class ApiController < ActionController::API
        def show = render(json: RperfPush.labels)
      end
    end
    Shop.initialize!
    Shop.routes.draw { get "users/:id", to: "admin/users#show"; get "api", to: "admin/api#show" }
    get = ->(path) { Shop.call(Rack::MockRequest.env_for(path))[2].enum_for(:each).to_a.join }
    $stdout.puts get.("/users/1") == (users = { controller_action: "admin/users#show", endpoint: "GET /users/:id" }).inspect, get.("/api"), $before == users
    $stdout.puts RperfPush.labels.empty?

    Rails::Generators.invoke("rperf_push:install", ["--quiet"], destination_root: Rails.root)
    installed = File.read(Rails.root.join("config/initializers/rperf_push.rb"))
    $stdout.puts installed == File.read(File.join(Dir.pwd, "config/initializers/rperf_push.rb"))
  RUBY

  { "after" => [boot, 'require "rperf_push"'], "before" => ['require "rperf_push"', boot] }.each do |order, start|
    it "labels samples with the controller's action and installs the very initializer, the gem loaded #{order} Rails" do
      env = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir, "SHOP_ROOT" => tmpdir }
      out, err, status = run_ruby([*start, application].join("\n"), env:, require_gem: false, gems: true)
      expect(status).to be_success, err
      expect(out.lines.map(&:chomp)).to eq(["true", '{"controller_action":"admin/api#show","endpoint":"GET /api"}', "true", "true", "true"])
    end
  end
end
