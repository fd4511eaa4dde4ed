# frozen_string_literal: true

require "json"
require "net/http"
require "tmpdir"
require_relative "../support/bookshop"
require_relative "../support/pprof_profile"
require_relative "../support/fake_pyroscope"

RSpec.describe "The bookshop, a whole Rails application", :once, :waiting, :long do
  before(:context) do
    @folder = Dir.mktmpdir("bookshop-")
    Bookshop.new(@folder)
  end

  after(:context) { FileUtils.rm_rf(@folder) }

  let(:fake_server) { FakePyroscope.new }
  let(:shop) do
    Bookshop.new(@folder, "RPERF_PUSH_SERVER_ADDRESS" => fake_server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1", "RPERF_PUSH_REPORT_PID" => "true")
  end

  after { fake_server.stop }

  def series = fake_server.accepted.map { |received| received.labels.to_h }
  def samples = fake_server.accepted.flat_map { |received| PprofProfile.from_message(received.profile).samples }
  def label_values(name) = samples.flat_map { |sample| sample.labels[name] }.compact.uniq.sort
  def get(url) = Net::HTTP.get(URI(url))

  describe "without a word about it" do
    state = "puts JSON.generate([RperfPush.running?, RperfPush::Native.started&.fetch(:application)])"

    it "profiles no runner, no rake task, no console, no test and no development, and says so in a line" do
      out, = shop.task("runner", state)
      expect(out.lines.first).to start_with("[rperf-push] off: this is a task, not a server or a worker (RPERF_PUSH_ENABLED=true")
      expect(JSON.parse(out.lines.last)).to eq([false, nil])
      out, = shop.task("console", stdin: state)
      expect(out).to include("[false,null]")
      out, = shop.task("runner", state, env: { "RAILS_ENV" => "test" })
      expect(out).to match(/off: this is test, not production/)
      expect(fake_server.received).to eq([])
    end

    it "profiles what is asked for, under the application's name, with environment and role" do
      _, err, status = shop.task("runner", "x = 0; 10_000_000.times { x += 1 }",
                                 env: { "RPERF_PUSH_ENABLED" => "true", "RPERF_PUSH_TAGS" => "region=eu" })
      expect(status).to be_success, err
      expect(series).to all(include("service_name" => "bookshop", "env" => "production", "role" => "task", "region" => "eu"))
      expect(series).not_to be_empty
    end

    it "lets the variables win" do
      shop.task("runner", "x = 0; 10_000_000.times { x += 1 }",
                env: { "RPERF_PUSH_ENABLED" => "true", "RPERF_PUSH_APPLICATION_NAME" => "other", "RPERF_PUSH_TAGS" => "role=mine" })
      expect(series).to all(include("service_name" => "other", "role" => "mine"))
      expect(series).not_to be_empty
    end
  end

  it "is told what to set next by the generator, in words that are true" do
    out, err, status = shop.task("generate", "rperf_push:install", "--pretend")
    expect(status).to be_success, err
    expect(out).to include("config.server_address", "RPERF_PUSH_SERVER_ADDRESS", "RPERF_PUSH_ENABLED=true bin/rails server")
    check = out[/bundle exec (rperf-push check .*)$/, 1].split
    said, err, status = shop.task(*check.drop(1), command: [RbConfig.ruby, File.expand_path("../../exe/rperf-push", __dir__)])
    expect([said[/^ok: delivered/], err, status.exitstatus]).to eq(["ok: delivered", "", 0])
  end

  it "has no frame of the profiler in its backtraces where that is off, and labels from the first session on" do
    out, err, status = shop.task("runner", <<~'RUBY')
      ours = -> { caller.grep(%r{/lib/rperf_push}).size }
      ProductsController.prepend(Module.new { define_method(:labels) { $seen = [ours.call, RperfPush.labels[:endpoint]]; super() } })
      job = Class.new(ActiveJob::Base) { define_method(:perform) { $seen = [ours.call, RperfPush.labels[:queue]] } }
      see = lambda do
        Rails.application.call(Rack::MockRequest.env_for("/labels"))
        [$seen, (job.perform_now && $seen)]
      end
      off = see.call
      on = nil
      RperfPush.start { on = see.call }
      puts JSON.generate([off, on])
    RUBY
    expect(status).to be_success, err
    expect(JSON.parse(out.lines.last)).to match([[[0, nil], [0, nil]], [[be > 0, "GET /labels"], [be > 0, "default"]]])
  end

  it "has an initializer that `rperf-push check` reads, and so is one that mentions Rails" do
    check = [RbConfig.ruby, File.expand_path("../../exe/rperf-push", __dir__), "check", "--config"]
    out, err, status = shop.task("config/initializers/rperf_push.rb", command: check)
    expect([out[/application_name \S+/], err, status.exitstatus]).to eq(["application_name bookshop", "", 0])

    Dir.mkdir("#{tmpdir}/initializers")
    File.write("#{tmpdir}/application.rb", "require #{File.join(Bookshop::ROOT, "config/application").dump}")
    File.write("#{tmpdir}/initializers/own.rb", <<~RUBY)
      RperfPush.configure do |config|
        config.application_name = "\#{Rails.application.class.module_parent_name.downcase}-\#{Rails.env}"
        config.enabled = Rails.env.production?
      end
    RUBY
    out, err, status = shop.task("#{tmpdir}/initializers/own.rb", command: check)
    expect([out[/application_name \S+/], err, status.exitstatus]).to eq(["application_name bookshop-production", "", 0])
  end

  {
    "with the gem in the Gemfile" => [{}, []],
    "under rperf-push run" => [{ "BOOKSHOP_WITHOUT_GEM" => "1" }, [File.expand_path("../../exe/rperf-push", __dir__), "run"]]
  }.each do |title, (env, run)|
    it "is labelled by its routes on a Puma cluster, with windows of each worker, #{title}" do
      command = [RbConfig.ruby, *run, *(RbConfig.ruby unless run.empty?), "-S", "puma", "-C", "config/puma.rb"].compact
      pids = nil
      shop.serve(env:, command:) do |url, _pid|
        pids = []
        shop.wait("one worker only") { (pids |= Array.new(4) { JSON.parse(get("#{url}/labels"))["pid"] }).size == 2 }
        expect(JSON.parse(get("#{url}/labels"))["labels"]).to eq("endpoint" => "GET /labels", "controller_action" => "products#labels")
        Array.new(4) { |n| Thread.new { 60.times { |i| get("#{url}/books/#{(n * 60) + i + 1}/ada-lovelace"); get("#{url}/~ada") } } }.each(&:join)
      end
      expect(series.map { |labels| labels["pid"].to_i }.uniq).to include(*pids)
      # Until the initializer has come, `run` has no more than the program's name.
      expect(series.reject { |labels| labels["service_name"] == "puma" && !run.empty? }).to all(include("service_name" => "bookshop", "role" => "web"))
      expect(label_values("endpoint")).to include("GET /books/:id(/:title)").and all(match(%r{\A(GET /(books/:id\(/:title\)|labels)|unrouted)\z}))
      frames = samples.flat_map(&:stack)
      expect(frames.map(&:name)).to include("ProductsController#show", "app/views/products/show.html.erb")
      expect(frames.map(&:name).grep(/_erb__/)).to eq([])
      expect(frames.map(&:filename)).to include("app/models/product.rb", "app/views/products/show.html.erb").and include(%r{\Apuma/lib/})
      expect(samples.flat_map { |sample| sample.labels.values }.grep(/ada/)).to eq([])
    end
  end

  it "has windows of each process, the last ones too, through a phased restart and a refork of Puma with fork_worker" do
    pids = lambda { |url| Array.new(20) { |n| get("#{url}/books/#{n + 1}/x"); JSON.parse(get("#{url}/labels"))["pid"] }.uniq }
    seen = []
    shop.serve(env: { "BOOKSHOP_PRELOAD" => "0", "BOOKSHOP_FORK_WORKER" => "1" }) do |url, master|
      shop.wait("one worker only") { (seen = pids.(url)).size == 2 }
      { USR1: 2, URG: 1 }.each do |signal, replaced| # workers, and all but the one that others are forked from
        Process.kill(signal, master)
        shop.wait("no new workers by #{signal}") { (now = pids.(url)).size == 2 && (now - seen).size >= replaced && seen |= now }
      end
    end
    expect(seen.size).to be >= 5
    expect(series.map { |labels| labels["pid"].to_i }.uniq).to include(*seen)
  end

  # With the first command. Now and then two threads of Spring wait for each other there, for what Bundler loads: then another server has
  # more luck.
  def boot_spring(env, spring)
    wait_until("Spring", timeout: 300) do
      shop.task("rails", "runner", "1", env:, command: spring).last.success? || (shop.task("stop", env:, command: spring) && nil)
    end
  end

  # Its server keeps a process that has the application loaded, and forks each command from it.
  it "has what each command of Spring did, and leaves nothing behind in the process that they are forked from" do
    env = { "RAILS_ENV" => "development", "RPERF_PUSH_ENABLED" => "true", "SPRING_TMP_PATH" => tmpdir, "SPRING_LOG" => "#{tmpdir}/spring.log" }
    spring = [RbConfig.ruby, "-S", "spring"]
    command = Burning::CODE + <<~'RUBY'
      def work_in_command = burn(0.25)
      work_in_command
      ours = Dir["/proc/self/task/*/comm"].filter_map { |path| File.read(path).chomp rescue nil }.grep(/\Arpp-/).sort
      puts JSON.generate([Process.pid, Process.ppid, ours, Dir.children("/proc/#{Process.ppid}/fd").size])
    RUBY
    boot_spring(env, spring)
    told = Array.new(10) do
      out, err, status = shop.task("rails", "runner", command, env:, command: spring)
      expect(status).to be_success, "#{out}#{err}"
      JSON.parse(out.lines.last)
    end
    pids, parents, threads, descriptors = told.transpose
    expect(parents.uniq.size).to eq(1)
    expect(threads.uniq).to eq([%w[rpp-collector rpp-control rpp-uploader]])
    expect(descriptors.last).to be <= descriptors[1]
    worked = fake_server.accepted.select { |received| received.profile.string_table.include?("Object#work_in_command") }
    expect(worked.map { |received| received.labels.to_h["pid"].to_i }.uniq).to match_array(pids)
  ensure
    shop.task("stop", env:, command: spring)
  end

  it "has jobs on Solid Queue labelled by class and queue" do
    shop.serve do |url|
      20.times { |n| Net::HTTP.post(URI("#{url}/books/#{n + 1}/orders"), "") }
    end
    shop.jobs { shop.wait("the jobs are not done") { shop.value("SELECT COUNT(*) FROM orders WHERE invoice IS NULL").zero? } }
    expect(shop.value("SELECT COUNT(*) FROM orders")).to eq(20)
    expect(series.map { |labels| labels["role"] }).to include("web", "jobs")
    expect(label_values("job")).to eq(["InvoiceJob"])
    expect(label_values("queue")).to eq(["invoices"])
  end
end
