# frozen_string_literal: true

require "json"
require_relative "support/pprof_profile"

# How requests ended, on the samples of them.
RSpec.describe "With outcome_labels", :interpreted do
  # What each program has: requests that wait, which is exact, and do so in a method of a name of their own.
  requests = <<~'RUBY'
    require "json"
    require "rperf_push/rack"
    def answer(status) = [status, {}, []]
    def in_time = (sleep(0.03); answer(200))
    def moved = (sleep(0.03); answer("302"))
    def missing = (sleep(0.03); answer(404))
    def failed = (sleep(0.03); answer(503))
    def raised = (sleep(0.03); raise(IOError, "mine"))
    def thrown = (sleep(0.03); throw(:async, 1))
    def strange = (sleep(0.03); Object.new)
    def outside = sleep(0.03)
    APP = RperfPush::RackMiddleware.new(->(env) { __send__(env["PATH_INFO"].delete_prefix("/")) })
    def get(name) = APP.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/#{name}")
  RUBY

  define_method(:run_requests) do |code, **settings|
    # A window is longer than the program.
    settings = { backend: "directory", directory: "#{tmpdir}/profiles", upload_interval: 3600, **settings }
    env = settings.to_h { |name, value| ["RPERF_PUSH_#{name.upcase}", value.to_s] }
    out, err, status = run_ruby("RperfPush.configure!\n#{requests}\n#{code}", env:)
    expect(status).to be_success, err
    out
  end

  def windows = Dir["#{tmpdir}/profiles/*.pb.gz"].sort_by { |path| path[/\d+(?=\.pb)/].to_i }.map { |path| PprofProfile.read(path) }

  # @return [Hash{String => Array}] method => the [status, slow] of its samples
  def outcomes(profiles = windows)
    samples = profiles.flat_map(&:samples).select { |sample| sample.stack.any? { |frame| frame.name == "Kernel#sleep" } }
    samples.group_by { |sample| sample.stack.map(&:name).grep(/\AObject#/).first.delete_prefix("Object#") }
           .transform_values { |of_method| of_method.map { |sample| sample.labels.values_at("status", "slow") }.uniq }
  end

  it "samples of a request say how it ended, whatever it is that ended it" do
    out = run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3600)
      %i[in_time moved missing failed strange].each { |name| get(name) }
      begin
        get(:raised)
      rescue IOError => e
        puts e.message
      end
      puts catch(:async) { get(:thrown) }
      outside
      puts RperfPush.labels
    RUBY
    expect(out.lines.map(&:chomp)).to eq(%w[mine 1 {}])
    expect(outcomes).to eq(
      "in_time" => [%w[2xx false]], "moved" => [%w[3xx false]], "missing" => [%w[4xx false]], "failed" => [%w[5xx false]],
      "raised" => [%w[5xx false]], "thrown" => [[nil, "false"]], "strange" => [[nil, "false"]], "outside" => [[nil, nil]]
    )
  end

  it "samples of slow requests say so" do
    run_requests("get(:in_time)", outcome_labels: true, slow_requests: "0.000001")
    expect(outcomes).to eq("in_time" => [%w[2xx true]])
  end

  it "samples of requests that end alike are summed" do
    run_requests("20.times { get(:in_time) }", outcome_labels: true, slow_requests: 3600)
    expect(outcomes).to eq("in_time" => [%w[2xx false]])
    rows = windows.flat_map { |window| window.samples.map { |sample| [window, sample.stack, sample.labels, sample.numbers] } }
    expect(rows.uniq.size).to eq(rows.size)
  end

  it "samples that differ in hidden frames only are summed" do
    run_requests(<<~'RUBY')
      nap = -> { sleep(0.03) }
      2.times { |turn| turn.zero? ? RperfPush::Inheritance.ending(&nap) : RperfPush::Outcome.follow({}, :e, &nap) }
    RUBY
    sleeps = windows.flat_map(&:samples).select { |sample| sample.stack.first.name == "Kernel#sleep" && sample.labels["gvl_state"] == "blocked" && sample.numbers.any? }
    expect(sleeps.map { |sample| sample.values.last / 1_000_000 }).to match([be_between(60, 5000)])
  end

  it "a request that runs on has its outcome in the windows that are open at its end, and says in earlier ones that it is open" do
    shares = JSON.parse(run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3600))
      def early = (sleep(0.09); RperfPush.flush; in_time)
      get(:early)
      RperfPush.flush
      puts JSON.generate(RperfPush.stats.values_at(:requests_open_ns, :requests_ns))
    RUBY
    expect(outcomes).to eq("early" => [["open", nil]], "in_time" => [%w[2xx false]])
    of_requests = windows.flat_map(&:samples).select { |sample| sample.labels.key?("status") }
    open, ended = of_requests.partition { |sample| sample.labels["status"] == "open" }.map { |part| part.sum { |sample| sample.values.last } }
    expect(shares).to eq([open, open + ended])
    expect(open).to be > 90_000_000
  end

  it "fibers and threads of a request have its outcome, and a request within a request that of the outer one" do
    run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3600)
      def in_thread = sleep(0.03)
      def nested = (Thread.new { in_thread }.join; get(:failed); in_time)
      get(:nested)
      get(:moved)
    RUBY
    expect(outcomes).to include("in_thread" => [%w[2xx false]], "failed" => [%w[2xx false]], "in_time" => [%w[2xx false]],
                                "moved" => [%w[3xx false]])
  end

  # Active Record begins a thread for its pool in the first request of a worker.
  it "a thread that outlives the request that has begun it has its outcome no more" do
    run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 0.001)
      def lives_on = sleep(0.1)
      def begins = ($thread = Thread.new { sleep(0.01) while APP_BUSY.any?; lives_on }; in_time)
      APP_BUSY = [true]
      get(:begins)
      APP_BUSY.clear
      $thread.join
    RUBY
    expect(outcomes).to include("in_time" => [%w[2xx true]], "lives_on" => [[nil, nil]])
  end

  it "what such a thread creates then has it no more, either" do
    out = run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3600)
      class Later; end
      busy = [true]
      RperfPush.start(mode: :alloc, alloc_interval: 1)
      Object.define_method(:begins) { $thread = Thread.new { sleep(0.01) while busy.any?; 100.times { Later.new } }; answer(200) }
      get(:begins)
      busy.clear
      $thread.join
      data = RperfPush.stop
      sets = data[:aggregated_samples].select { |frames,| frames.any? { |_, label| label == "Later" } }.map { |row| data[:label_sets][row[3]] }
      puts JSON.generate(sets.map { |labels| labels.slice(:status, :slow) }.uniq)
    RUBY
    expect(JSON.parse(out)).to eq([{}])
  end

  it "slow is what takes longer than the endpoint's other requests" do
    run_requests(<<~'RUBY', outcome_labels: true)
      def quick = answer(200)
      def sometimes = $long ? (sleep(0.5); answer(200)) : answer(200)
      200.times { get(:sometimes) }
      $long = true
      get(:sometimes)
    RUBY
    expect(outcomes).to eq("sometimes" => [%w[2xx true]])
  end

  it "a session on demand has them, too" do
    out = run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3600)
      RperfPush.start(mode: :wall)
      get(:failed)
      data = RperfPush.stop
      sets = data[:aggregated_samples].select { |frames,| frames.any? { |_, label| label == "Object#failed" } }.map { |row| data[:label_sets][row[3]] }
      puts JSON.generate(sets.map { |labels| labels.slice(:status, :slow) }.uniq)
    RUBY
    expect(JSON.parse(out)).to eq([{ "status" => "5xx", "slow" => "false" }])
  end

  it "say what slow requests allocate" do
    out = run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 3)
      class Book; end
      class Page; end
      def quick = (10.times { Page.new }; answer(200))
      def lazy = (sleep(3.1); 30.times { Book.new }; answer(200)) # a window may end while it sleeps
      RperfPush.start(mode: :alloc, alloc_interval: 1)
      5.times { get(:quick) }
      2.times { get(:lazy) }
      data = RperfPush.stop
      sums = data[:aggregated_samples].each_with_object(Hash.new(0)) do |(frames, objects, _, set), all|
        all[[frames[0][1], *data[:label_sets][set].values_at(:endpoint, :status, :slow)].join(" ")] += objects if frames[0][1].match?(/Book|Page/)
      end
      puts JSON.generate(sums)
    RUBY
    expect(JSON.parse(out)).to eq("Page GET /quick 2xx false" => 50, "Book GET /lazy 2xx true" => 60)
  end

  it "go with samples of allocations, contention and what the program counts to the server" do
    run_requests(<<~'RUBY', outcome_labels: true, slow_requests: 0.05, mode: "cpu,wall,alloc,contention")
      class Book; end
      LOCK = Mutex.new
      def now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      def lazy
        finish = now + 0.7
        1000.times { Book.new } while now < finish
        RperfPush.sample(3, name: :retries)
        other = Thread.new { LOCK.synchronize { sleep(0.1) } }
        Thread.pass until LOCK.locked?
        LOCK.synchronize { answer(200) }.tap { other.join }
      end
      get(:lazy)
    RUBY
    samples = windows.flat_map { |window| window.samples.map { |sample| [sample, window.sample_types.map(&:first).zip(sample.values).to_h] } }
    labels = ->(&chosen) { samples.filter_map { |sample, values| sample.labels.values_at("status", "slow") if chosen.call(sample, values) }.uniq }
    expect(labels.call { |sample, values| values["alloc_objects"].positive? && sample.stack.first.name == "Book" }).to eq([%w[2xx true]])
    expect(labels.call { |sample, values| values["delay"].positive? && sample.stack.any? { |frame| frame.name == "Object#lazy" } }).to eq([%w[2xx true]])
    expect(labels.call { |_, values| values["retries"].positive? }).to eq([%w[2xx true]])
  end

  it "there are none by default" do
    run_requests("get(:in_time)")
    expect(outcomes).to eq("in_time" => [[nil, nil]])
  end

  it "a wrong slow_requests is told" do
    _, err, = run_ruby("RperfPush.configure { |config| config.slow_requests = true; config.outcome_labels = 1 }")
    expect(err).to include('slow_requests must be p95, or a number of seconds above 0 and at most 86400, got "true"', "outcome_labels must be true or false, got 1")
  end
end
