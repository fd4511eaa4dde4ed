# frozen_string_literal: true

require "json"
require_relative "../support/postgres_process"
require_relative "../support/pprof_profile"
require_relative "../support/redis_process"

# Jobs as their own workers run them, and what arrives of them.
RSpec.describe "Jobs", :once, :waiting do
  # What each program has: a job that works for as long as it takes to be sampled.
  work = <<~'RUBY'
    require "json"
    def work(seconds = 0.25)
      started = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - started < seconds
    end
  RUBY

  define_method(:run_jobs) do |code, redis: nil, timeout: 120, **more|
    env = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => "#{tmpdir}/profiles", "REDIS_URL" => redis&.url,
            "RAILS_ENV" => "production", **more.transform_keys(&:to_s) }
    out, err, status = run_ruby([work, code].join("\n"), env:, timeout:, gems: true)
    expect(status).to be_success, "#{out}\n#{err}"
    out
  end

  # @return [Hash{String => Array<PprofProfile>}] by process: one for each window that it lived through
  def profiles
    Dir["#{tmpdir}/profiles/*.pb.gz"].group_by { |path| path[/-(\d+)-\d+\.pb/, 1] }.transform_values { |paths| paths.map { |path| PprofProfile.read(path) } }
  end

  def labels
    sets = profiles.values.flatten.flat_map(&:samples).map { |sample| sample.labels.slice("job", "queue") }
    sets.select { |set| set["job"] }.map { |set| set.transform_values { |value| Array(value).first } }.uniq
  end

  describe "on Redis" do
    let(:redis) { RedisProcess.new(tmpdir) }

    after { redis.stop }

    it "of Sidekiq carry class and queue, an Active Job its own class, once" do
      out = run_jobs(<<~'RUBY', redis:)
        require "logger"
        require "sidekiq"
        require "sidekiq/embedded"
        require "active_job"
        require "sidekiq/rails" if defined?(Rails)
        require "active_job/queue_adapters/sidekiq_adapter"
        require "rperf_push/sidekiq"
        require "rperf_push/active_job"
        RperfPush.configure!
        ActiveJob::Base.queue_adapter = :sidekiq
        ActiveJob::Base.logger = Logger.new(nil)
        $done = Queue.new
        class Plain
          include Sidekiq::Job
          sidekiq_options queue: "low"
          def perform(number) = (work; $done << RperfPush.labels)
        end
        class Mail < ActiveJob::Base
          include RperfPush::ActiveJobMiddleware
          queue_as :mail
          def perform(address) = (work; $done << RperfPush.labels)
        end
        instance = Sidekiq.configure_embed do |config|
          config.logger = Logger.new(nil)
          config.queues = %w[low mail]
          config.server_middleware { |chain| chain.add RperfPush::SidekiqMiddleware }
        end
        Plain.perform_async(1)
        Mail.perform_later("ada@example.com")
        instance.run
        puts JSON.generate([$done.pop, $done.pop].sort_by { |labels| labels[:job] })
        instance.stop
      RUBY
      expected = [{ "job" => "Mail", "queue" => "mail" }, { "job" => "Plain", "queue" => "low" }]
      expect(JSON.parse(out.lines.last)).to eq(expected)
      expect(labels).to match_array(expected)
    end

    it "of Resque carry class and queue, and their children deliver what they have seen" do
      out = run_jobs(<<~'RUBY', redis:)
        require "logger"
        require "rperf_push/resque"
        Resque.redis = ENV.fetch("REDIS_URL")
        Resque.logger = Logger.new(nil)
        RperfPush.configure!
        class Invoice
          @queue = :invoices
          def self.perform(number) = work
        end
        class Failing
          @queue = :invoices
          def self.perform = (work; raise("on purpose"))
        end
        3.times { |number| Resque.enqueue(Invoice, number) }
        Resque.enqueue(Failing)
        worker = Resque::Worker.new("invoices")
        worker.prepare
        worker.work(0)
        puts JSON.generate([Process.pid, Resque.info.slice(:processed, :failed)])
      RUBY
      pid, info = JSON.parse(out.lines.last)
      expect(info).to eq("processed" => 4, "failed" => 1)
      expect(labels).to match_array([{ "job" => "Invoice", "queue" => "invoices" }, { "job" => "Failing", "queue" => "invoices" }])
      children = profiles.except(pid.to_s).values
      expect(children.size).to eq(4)
      expect(children.map { |windows| windows.sum { |window| window.total("cpu") } / 1e9 }).to all(be_between(0.2, 2))
    end
  end

  describe "on PostgreSQL" do
    let(:postgres) { PostgresProcess.new }

    after { postgres.stop }

    # Its own threads take the jobs, as they do in `good_job start`.
    it "of GoodJob carry class and queue, in Rails without a word about it" do
      out = run_jobs(<<~'RUBY', timeout: 120, DATABASE_URL: postgres.url, SHOP_ROOT: tmpdir)
        require "logger"
        require "active_record/railtie"
        require "active_job/railtie"
        require "action_controller/railtie"
        require "rails/generators"
        require "good_job"
        class Shop < Rails::Application
          config.load_defaults Rails::VERSION::STRING.to_f
          config.root = ENV.fetch("SHOP_ROOT")
          config.eager_load = false
          config.secret_key_base = "x" * 40
          config.logger = Logger.new(nil)
          config.active_job.queue_adapter = :good_job
          config.good_job.execution_mode = :external
        end
        Shop.initialize!
        ActiveRecord::Migration.verbose = false
        Rails::Generators.invoke("good_job:install", ["--quiet"], destination_root: Rails.root)
        ActiveRecord::MigrationContext.new(Rails.root.join("db/migrate").to_s).migrate
        RperfPush.configure!
        $seen = Queue.new
        class InvoiceJob < ActiveJob::Base
          queue_as :invoices
          def perform(number) = (work; $seen << RperfPush.labels)
        end
        class FailingJob < ActiveJob::Base
          discard_on(IOError)
          def perform = (work; $seen << RperfPush.labels; raise(IOError, "on purpose"))
        end
        InvoiceJob.perform_later(1)
        FailingJob.set(queue: "other").perform_later
        GoodJob.capsule.start
        puts JSON.generate(Array.new(2) { $seen.pop }.sort_by { |labels| labels[:job] })
        GoodJob.shutdown
      RUBY
      expected = [{ "job" => "FailingJob", "queue" => "other" }, { "job" => "InvoiceJob", "queue" => "invoices" }]
      expect(JSON.parse(out.lines.last)).to eq(expected)
      expect(labels).to match_array(expected)
    end
  end

  it "of Delayed Job carry class or method, and queue" do
    out = run_jobs(<<~'RUBY')
      require "logger"
      require "active_record"
      require "delayed_job_active_record"
      require "rperf_push/delayed_job"
      ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
      ActiveRecord::Schema.verbose = false
      ActiveRecord::Schema.define do
        create_table :delayed_jobs do |table|
          table.integer :priority, :attempts, default: 0
          table.text :handler, :last_error
          table.datetime :run_at, :locked_at, :failed_at
          table.string :locked_by, :queue
          table.timestamps
        end
      end
      Delayed::Worker.logger = Logger.new(nil)
      RperfPush.configure!
      $seen = []
      class Report
        def perform = (work; $seen << RperfPush.labels)
        def self.nightly = (work; $seen << RperfPush.labels)
      end
      Delayed::Job.enqueue(Report.new, queue: "reports")
      Report.delay(queue: "night").nightly
      Delayed::Worker.new(quiet: true).work_off
      puts JSON.generate($seen)
    RUBY
    expected = [{ "job" => "Report", "queue" => "reports" }, { "job" => "Report.nightly", "queue" => "night" }]
    expect(JSON.parse(out.lines.last)).to eq(expected)
    expect(labels).to match_array(expected)
  end

  describe "and requests with a session on demand that is deferred" do
    it "are all that is sampled", :measures do
      out, err, status = run_ruby(<<~RUBY)
        #{work}
        require "json"
        require "rperf_push/sidekiq"
        require "rperf_push/rack"
        run = -> { RperfPush::SidekiqMiddleware.new.call(nil, { "class" => "Import" }, "low") { work } }
        request = -> { RperfPush::RackMiddleware.new(->(_env) { work; [200, {}, []] }).call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/users/7") }
        run.()                                         # nothing runs: it does nothing
        RperfPush.start(frequency: 1000, defer: true)
        work
        run.()
        work
        request.()
        work
        data = RperfPush.stop
        sums = data[:aggregated_samples].group_by { |row| data[:label_sets][row[3]] }.transform_values { |rows| rows.sum { |row| row[1] } / 1e9 }
        puts JSON.generate(sums.map { |labels, seconds| [labels.except(:"%GVL", :"%GC"), seconds] })
      RUBY
      expect(status).to be_success, err
      sums = JSON.parse(out).group_by(&:first).transform_values { |rows| rows.sum(&:last) }
      expect(sums[{ "job" => "Import", "queue" => "low" }]).to be_within(0.1).of(0.25)
      expect(sums[{ "endpoint" => "GET /users/:id" }]).to be_within(0.1).of(0.25)
      expect(sums.values.sum).to be < 0.75
    end
  end
end
