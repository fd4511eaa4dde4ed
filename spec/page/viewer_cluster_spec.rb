# frozen_string_literal: true

require "json"
require "net/http"
require "rperf_push"
require "rperf_push/remote/control_client"
require_relative "../support/held_port"

# The viewer in a real Puma cluster: whichever worker is asked, it shows all of them.
RSpec.describe "RperfPush::Viewer in a cluster", :once do
  include CommandLine

  app = <<~'RUBY'
    require "rperf_push/control"
    require "rperf_push/viewer"
    viewer = RperfPush::Viewer.new(nil, path: "/profiles", max_snapshots: 3, allow: ->(_) { true })
    def now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    def work = (till = now + 0.2).then { nil while now < till }
    # A worker that sleeps says what its windows have delivered, which may be none yet.
    def stay_awake = $awake ||= Thread.new { loop { 10_000.times { nil } && sleep(0.001) } }
    run(lambda do |env|
      body = case env["PATH_INFO"]
             when "/work" then stay_awake && RperfPush.label(worker: Process.pid) { work }
             when "/take" then viewer.take_snapshot!
             when %r{\A/profiles} then next viewer.call(env)
             end
      [200, { "content-type" => "text/plain" }, [[Process.pid, body].join(" ")]]
    end)
  RUBY

  define_method(:get) { |path| Net::HTTP.get(URI("#{@url}#{path}")) }
  define_method(:answer) do |path|
    get(path).split
  rescue SystemCallError, EOFError
    nil # it is starting
  end

  # Answers of both workers to the same request.
  define_method(:of_both) do |path|
    answers = {}
    wait_until("both workers' answers", timeout: 120) do
      Array.new(4) { Thread.new { answer(path) } }.filter_map(&:value).each { |pid, body| answers[pid] = body }
      answers if answers.size == 2
    end
  end

  define_method(:snapshots) do
    manifest = JSON.parse(get("/profiles/profiles.json"))
    manifest["files"].map { |file| [file["name"], RperfPush::Formats.decode(get("/profiles/#{file["url"]}").b, "snapshot")] }
  end

  define_method(:workers_in) { |data| RperfPush::Values.sums(data) { |set| [set[:"%pid"], set[:worker]] }.select { |(_, worker), cpu| worker && cpu.positive? }.keys }

  define_method(:serve) do |preload, &block|
    port = HeldPort.new
    @url = "http://127.0.0.1:#{port}"
    File.write("#{tmpdir}/config.ru", app)
    File.write("#{tmpdir}/puma.rb", "workers 2\nthreads 2, 2\n#{"preload_app!\n" if preload}bind 'tcp://127.0.0.1:#{port}'\n")
    env = { "RUBYLIB" => RubyProgram::LIB, "RPERF_PUSH_CONTROL_SOCKET" => "#{tmpdir}/s" }
    pid = Process.spawn(env, RbConfig.ruby, "-S", "puma", "-C", "puma.rb", chdir: tmpdir, in: File::NULL, %i[out err] => "#{tmpdir}/log", pgroup: true)
    block.call
  rescue RuntimeError => e
    raise e, "#{e.message}:\n#{File.read("#{tmpdir}/log").lines.last(20).join}"
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end

  { "that loads the application in each worker" => false, "that loads it once" => true }.each do |which, preload|
    it "#{which} shows all workers, whichever is asked" do
      serve(preload) do
        workers = of_both("/work").keys
        expect(get("/take")).to end_with(" true")
        seen = Array.new(6) { snapshots }
        expect(seen.flatten(1).map { |_, data| workers_in(data).sort }.uniq).to eq([workers.sort.map { |pid| [pid, pid] }])
        expect(seen.map(&:size).uniq).to eq([1])
        expect(seen.first.first.first).to match(/\A[\d :-]+\z/)
        3.times { get("/work") && get("/take") }
        expect(Array.new(6) { snapshots.map(&:first) }.uniq.map(&:size)).to eq([3])
      end
    end
  end
end
