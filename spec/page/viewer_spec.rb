# frozen_string_literal: true

require "rack/mock"
require "rperf_push/viewer"
require_relative "../support/bookshop"
require_relative "../support/chromium"
require_relative "../support/held_port"

RSpec.describe "RperfPush::Viewer", :once do
  work = <<~RUBY
    require "rperf_push/viewer"
    require "rack/mock"
    def burn(name, seconds = 0.3) = RperfPush.label(part: name) { at = clock + seconds; nil until clock > at }
    def clock = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    def parts(viewer)
      request = Rack::MockRequest.new(viewer)
      files = JSON.parse(request.get("/rperf-push/profiles.json").body)["files"]
      files.map do |file|
        data = RperfPush::Formats.decode(request.get("/rperf-push/" + file["url"]).body.b, "snapshot")
        RperfPush::Values.sums(data) { |set| set[:part] }.reject { |_, sum| sum.zero? }.keys.compact.sort
      end
    end
    viewer = RperfPush::Viewer.new(nil, allow: ->(_) { true })
  RUBY

  def answers(code)
    out, err, status = run_ruby(code, gems: true)
    expect([err, status.exitstatus]).to eq(["", 0])
    out
  end

  it "needs nothing that only RubyGems has loaded" do
    expect(run_ruby("require 'rperf_push/viewer'; print RperfPush::Viewer.new(nil).class", arguments: ["--disable-gems"]).first(2)).to eq(["RperfPush::Viewer", ""])
  end

  it "has what was sampled since the last snapshot, with `configure` alone" do
    out = answers(<<~RUBY)
      #{work}
      RperfPush.configure! { |config| config.backend, config.directory = :directory, #{tmpdir.dump} }
      burn("a"); viewer.take_snapshot!
      burn("b"); viewer.take_snapshot!
      p parts(viewer)
    RUBY
    expect(out).to eq("[[\"a\"], [\"b\"]]\n")
  end

  # As in rperf's guide: the application says which requests and jobs are sampled, and how.
  it "has the program's own session where that is deferred, and samples nothing beside it" do
    [["", "RperfPush.start(defer: true, mode: :wall, frequency: 250)\n#{work}"], ["#{work}\n", "RperfPush.start(defer: true, mode: :wall, frequency: 250)"]].each do |parts|
      out = answers(<<~RUBY)
        #{parts.join}
        burn("outside")
        RperfPush.profile { burn("a") }
        p RperfPush::Native.stats[:timer_ticks] + RperfPush::Native.stats[:ticks]
        burn("outside")
        p RperfPush::Native.stats[:timer_ticks] + RperfPush::Native.stats[:ticks]
        viewer.take_snapshot!
        RperfPush.profile { burn("b") }
        viewer.take_snapshot!
        p viewer.take_snapshot!, parts(viewer), RperfPush.stop[:mode]
      RUBY
      before, after, again, *seen = out.lines(chomp: true)
      expect([again, *seen]).to eq(["false", '[["a"], ["b"]]', ":wall"])
      expect(after.to_i - before.to_i).to be <= 2 # one may be on its way
    end
  end

  it "follows a deferred session into forked children, and samples by itself beside one that is not" do
    out = answers(<<~RUBY)
      #{work}
      RperfPush.start(defer: true, frequency: 250)
      Process.wait(fork { burn("outside"); RperfPush.profile { burn("child") }; viewer.take_snapshot!; p parts(viewer); $stdout.flush })
      RperfPush.stop
      RperfPush.start(frequency: 250)
      burn("a"); viewer.take_snapshot!
      p parts(viewer), RperfPush::Values.sums(RperfPush.stop) { |set| set[:part] }.keys.compact
    RUBY
    expect(out).to eq(%([["child"]]\n[["a"]]\n["a"]\n))
  end

  it "leaves sessions of others as they are: none is cleared, none is kept from starting" do
    out = answers(<<~RUBY)
      #{work}
      p RperfPush.snapshot, RperfPush.stop
      burn("before")
      RperfPush.start
      burn("a"); viewer.take_snapshot!
      burn("b"); viewer.take_snapshot!
      p RperfPush::Values.sums(RperfPush.stop) { |set| set[:part] }.keys.compact.sort
      burn("c"); viewer.take_snapshot!
      p parts(viewer)
    RUBY
    expect(out).to eq("nil\nnil\n[\"a\", \"b\"]\n[[\"a\", \"before\"], [\"b\"], [\"c\"]]\n")
  end

  it "goes on in forked children" do
    out = answers(<<~RUBY)
      #{work}
      burn("parent")
      Process.wait(fork { burn("child"); viewer.take_snapshot!; p parts(viewer); $stdout.flush; exit!(0) })
    RUBY
    expect(out).to eq("[[\"child\"]]\n")
  end

  describe "as middleware" do
    let(:app) { ->(env) { [200, {}, ["the application at #{env["PATH_INFO"]}"]] } }
    let(:data) { { mode: :cpu, aggregated_samples: [[[["a.rb", "A#b", 1]], 1_000_000, 1, 0]], label_sets: [{}] } }
    let(:variables) { RperfPush::LocalDevelopment::VARIABLES.to_h { |name| [name, ENV.fetch(name, nil)] } }

    before { ENV.update(variables.to_h { |name, _| [name, (name == "RACK_ENV" ? "development" : nil)] }) }

    after do
      ENV.update(variables)
      RperfPush::Viewer.instance&.stop
      RperfPush::Viewer.instance = nil
    end

    def get(viewer, path, **env) = Rack::MockRequest.new(viewer).get(path, { "HTTP_HOST" => "localhost:3000", "REMOTE_ADDR" => "127.0.0.1", **env })

    # Whether a stranger is refused, who is told what to do in one line.
    def refused(env = {}, variables = {})
      ENV.update(variables)
      answer = get(RperfPush::Viewer.new(app), "/rperf-push/profiles.json", **env)
      expect(answer.body).to match(/\A.*allow: ->\(env\).*docs.viewer.md\n\z/) if answer.status == 403
      answer.status == 403
    end

    it "is below its path, and hands on the rest" do
      viewer = RperfPush::Viewer.new(app)
      expect(RperfPush::Viewer.instance).to equal(viewer)
      expect(%w[/ /rperf-pushed /x/rperf-push].map { |path| get(viewer, path).body }).to all(start_with("the application at /"))
      expect([get(viewer, "/rperf-push").body, get(viewer, "/rperf-push/").body]).to all(include('src="/rperf-push/page.js"'))
      expect(get(RperfPush::Viewer.new(app, path: "/a/b"), "/a/b/").body).to include('data-root="/a/b/"')
      expect { RperfPush::Viewer.new(app, path: "no") }.to raise_error(ArgumentError, /path must/)
    end

    it "keeps as many snapshots as asked for, the newest" do
      viewer = RperfPush::Viewer.new(nil, path: "", max_snapshots: 2)
      3.times { |second| viewer.add_snapshot(data.merge(start_time_ns: second * 1_000_000_000)) }
      names = JSON.parse(get(viewer, "/profiles.json").body)["files"].map { |file| file["name"] }
      expect(names).to eq([1, 2].map { |second| Time.at(second).strftime("%F %T") })
      expect(get(viewer, "/files/0").status).to eq(200)
      expect([get(viewer, "/files/2").status, get(viewer, "/source?path=#{__FILE__}").status]).to eq([404, 404])
    end

    it "shows itself to requests of the same machine, in development and test" do
      ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"].each { |address| expect(refused({ "REMOTE_ADDR" => address })).to be(false), address }
      ["localhost", "shop.localhost:80", "127.0.0.1:9292", "[::1]:9292"].each { |host| expect(refused({ "HTTP_HOST" => host })).to be(false), host }
      expect(refused({}, { "RAILS_ENV" => "test", "RACK_ENV" => "development" })).to be(false)
    end

    [{ "RACK_ENV" => nil }, { "RACK_ENV" => "" }, { "RACK_ENV" => "production" }, { "RACK_ENV" => "staging" }, { "RACK_ENV" => "prod" }, { "RACK_ENV" => "Development" },
     { "RAILS_ENV" => "staging" }, { "APP_ENV" => "production" }, { "HANAMI_ENV" => "production" }].each do |variables|
      it "shows nothing with #{variables}, until it is told who may look" do
        expect(refused({}, variables)).to be(true)
      end
    end

    [{ "REMOTE_ADDR" => "203.0.113.9" }, { "REMOTE_ADDR" => "::ffff:203.0.113.9" }, { "REMOTE_ADDR" => "127.0.0.1.example.com" }, { "REMOTE_ADDR" => nil }, { "HTTP_X_FORWARDED_FOR" => "127.0.0.1" },
     { "HTTP_FORWARDED" => "for=127.0.0.1" }, { "HTTP_X_REAL_IP" => "127.0.0.1" }, { "HTTP_VIA" => "1.1 proxy" }, { "HTTP_X_FORWARDED_HOST" => "shop.example.com" },
     { "HTTP_TRUE_CLIENT_IP" => "127.0.0.1" }, { "HTTP_CF_CONNECTING_IP" => "127.0.0.1" }, { "SERVER_PROTOCOL" => "HTTP/1.0" }, { "HTTP_HOST" => "localhost.example.com" },
     { "HTTP_HOST" => "rebound.example.com" }, { "HTTP_HOST" => nil }].each do |env|
      it "shows nothing to a request with #{env}" do
        expect(refused(env)).to be(true)
      end
    end

    it "lets `allow:` alone decide" do
      ENV["RACK_ENV"] = "production"
      viewer = RperfPush::Viewer.new(app, allow: ->(env) { env["user"] == "admin" })
      expect(%w[admin guest].map { |user| get(viewer, "/rperf-push/", "user" => user, "REMOTE_ADDR" => "203.0.113.9").status }).to eq([200, 403])
    end
  end

  describe "without snapshots" do
    app = <<~RUBY
      require "rperf_push/viewer"
      def burn = (till = now + 0.3).then { nil while now < till }
      def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      viewer = RperfPush::Viewer.new(nil, path: "/profiles", allow: ->(_) { true })
      run(->(env) { env["PATH_INFO"] == "/work" ? burn.then { [200, {}, ["done"]] } : viewer.call(env) })
    RUBY

    define_method(:serve) do |&block|
      port = HeldPort.new
      File.write("#{tmpdir}/config.ru", app)
      pid = Process.spawn({ "RUBYLIB" => RubyProgram::LIB }, RbConfig.ruby, "-S", "puma", "-b", "tcp://127.0.0.1:#{port}", chdir: tmpdir, %i[out err] => "#{tmpdir}/log")
      url = "http://127.0.0.1:#{port}"
      wait_until("the server") { Net::HTTP.get(URI("#{url}/work")) == "done" rescue nil }
      block.call(url)
    ensure
      pid && Process.kill(:KILL, pid) && Process.wait(pid)
    end

    it "says so, and has a button that takes one" do
      browser = Chromium.new
      serve do |url|
        browser.show("#{url}/profiles", value: "wall")
        expect(browser.text("main")).to start_with("No snapshot yet.")
        browser.click("#take")
        browser.until_true("what was done until then") { browser.boxes.keys.any? { |name| name.include?("burn") } }
      end
    ensure
      browser&.quit
    end

    it "takes none for the page of another site, nor for a form" do
      serve do |url|
        ask = lambda do |headers|
          Net::HTTP.post(URI("#{url}/profiles/snapshot"), "", headers).code
        end
        asked = { "x-rperf-push" => "snapshot" }
        expect([ask.({}), ask.(asked.merge("sec-fetch-site" => "cross-site")), ask.(asked.merge("sec-fetch-site" => "same-site"))]).to eq(%w[403 403 403])
        expect(JSON.parse(Net::HTTP.get(URI("#{url}/profiles/profiles.json")))).to include("files" => [], "takes" => true)
        expect(ask.(asked)).to eq("200")
        expect(JSON.parse(Net::HTTP.get(URI("#{url}/profiles/profiles.json")))["files"].size).to eq(1)
      end
    end
  end

  it "takes snapshots regularly, also in a forked child, until it is stopped" do
    out = answers(<<~RUBY)
      #{work.sub("Viewer.new(nil, ", "Viewer.new(nil, every: 0.2, ")}
      burn("a") until parts(viewer).flatten.include?("a")
      Process.wait(fork { burn("child") until parts(viewer).flatten.include?("child"); puts "child"; $stdout.flush; exit!(0) })
      viewer.stop
      sleep 0.1 until Thread.list.none? { |thread| thread.name == "rperf-push viewer" }
      puts "stopped"
    RUBY
    expect(out).to eq("child\nstopped\n")
    expect { RperfPush::Viewer.new(nil, every: 0) }.to raise_error(ArgumentError, "every must be a positive number of seconds, got 0")
  end

  it "is seen in a Rails application by those whom its routes let in" do
    File.write("#{tmpdir}/config.ru", <<~RUBY)
      require "#{Bookshop::ROOT}/config/environment"
      require "rperf_push/viewer"
      viewer = RperfPush::Viewer.new(nil, path: "", allow: ->(_) { true })
      Rails.application.routes.append do
        constraints(->(request) { request.cookies["role"] == "admin" }) { mount viewer, at: "/profiles" }
        get "/snapshot", to: ->(_) { [200, {}, [viewer.take_snapshot!.to_s]] }
      end
      Rails.application.reload_routes!
      run Rails.application
    RUBY
    File.write("#{tmpdir}/puma.rb", <<~RUBY)
      bind "tcp://127.0.0.1:\#{ENV.fetch("PORT")}"
      directory "#{Bookshop::ROOT}"
      rackup "#{tmpdir}/config.ru"
      raise_exception_on_sigterm false
    RUBY
    shop = Bookshop.new(tmpdir, "RPERF_PUSH_ENABLED" => "false")
    browser = Chromium.new
    shop.serve(command: [RbConfig.ruby, "-S", "puma", "-C", "#{tmpdir}/puma.rb"], stop: :KILL) do |url|
      shop.wait("no snapshot was taken") { Array.new(5) { Net::HTTP.get(URI("#{url}/books/1")) } && Net::HTTP.get(URI("#{url}/snapshot")) == "true" }
      expect(Net::HTTP.get_response(URI("#{url}/profiles")).code).to eq("404")
      browser.cookie("role", "admin", "127.0.0.1")
      expect(browser.show("#{url}/profiles", value: "wall").boxes.keys).to include("all", a_string_matching(/Puma/))
    ensure
      browser.quit # Puma waits for its connections
    end
  end
end
