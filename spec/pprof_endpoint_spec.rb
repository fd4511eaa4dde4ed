# frozen_string_literal: true

require_relative "support/held_port"
require "net/http"
require "rperf_push"

# Pulling: what `go tool pprof http://...` and scrapers ask a server for, which is a real one.
RSpec.describe "RperfPush::PprofEndpoint", :once, :waiting do
  before(:all) do
    @folder = Dir.mktmpdir("rperf-push-")
    @port = HeldPort.new
    File.write("#{@folder}/config.ru", <<~RUBY)
      require "rperf_push/pprof_endpoint"
      def burn = 1000.times { "a".hash }
      def snooze = sleep
      Thread.new { loop { RperfPush.label(tenant: "acme") { burn } } }
      Thread.new { snooze }
      map("/debug/pprof") { run RperfPush::PprofEndpoint.new(max_seconds: 30, max_callers: 2) }
      map("/told") { run RperfPush::PprofEndpoint.new(cmdline: true) }
      map("/own") do
        run lambda { |env|
          done = env["PATH_INFO"] == "/start" ? RperfPush.start : RperfPush.stop[:aggregated_samples]
          [200, {}, [done.class.name]]
        }
      end
    RUBY
    @log = "#{@folder}/puma.log"
    @pid = Process.spawn(RbConfig.ruby, "-I", RubyProgram::LIB, "-S", "puma", "-b", "tcp://127.0.0.1:#{@port}", "-t", "5:5",
                         "#{@folder}/config.ru", out: @log, err: @log)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    begin
      TCPSocket.new("127.0.0.1", @port.number).close
    rescue Errno::ECONNREFUSED
      raise File.read(@log) if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

      sleep 0.05
      retry
    end
  end

  after(:all) do
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
    FileUtils.rm_rf(@folder)
  end

  def get(path) = Net::HTTP.get_response(URI("http://127.0.0.1:#{@port}#{path}"))

  def profile(answer)
    expect(answer.code).to eq("200"), answer.body
    File.binwrite("#{tmpdir}/answer.pb.gz", answer.body)
    RperfPush::Formats.load("#{tmpdir}/answer.pb.gz")
  end

  def methods_in(data) = data[:aggregated_samples].flat_map { |frames,| frames.map { |frame| frame[1] } }.uniq

  # Asked again until the program, which on a busy machine may not run for a second, has worked in all that was recorded.
  def in_its_turn
    wait_until("work") { yield.then { |data| data if Array[data].flatten.all? { |one| methods_in(one).grep(/burn/).any? } } }
  end

  it "says what there is" do
    expect(get("/debug/pprof/").body).to include("profile?seconds=N")
    expect(get("/debug/pprof/heap").code).to eq("404")
  end

  it "shows the command line, in which secrets may stand, only where it was told to" do
    expect([get("/debug/pprof/cmdline").code, get("/debug/pprof/cmdline").body]).to eq(["404", "cmdline is off: PprofEndpoint.new(cmdline: true) shows the command line\n"])
    expect(get("/debug/pprof/").body.scan(/^\w+/)).to eq(%w[profile symbol])
    expect(get("/debug/pprof/nothing").body).to eq("there is no \"nothing\": profile, symbol\n")
    expect(get("/told/cmdline").body).to include("puma")
    expect(get("/told/").body).to include("cmdline             the program's command line")
  end

  it "answers with what was sampled meanwhile: CPU and wall time, all threads, labels" do
    data = in_its_turn { profile(get("/debug/pprof/profile?seconds=1")) }
    expect(methods_in(data)).to include(/burn/, /snooze/)
    expect(data[:label_sets].map { |set| set[:tenant] || set["tenant"] }).to include("acme")
    expect(data[:duration_ns]).to be >= 1_000_000_000
  end

  # In nanoseconds of wall time: it slept all the while.
  def slept(data)
    walls = RperfPush::Values.column(data, :wall)
    data[:aggregated_samples].each_with_index.sum { |(frames, *), at| frames.any? { |frame| frame[1].end_with?("snooze") } ? walls[at] : 0 }
  end

  it "lets callers that overlap share a session, each with its own time" do
    both = in_its_turn do
      long = Thread.new { get("/debug/pprof/profile?seconds=3") }
      short = profile(get("/debug/pprof/profile?seconds=1"))
      [profile(long.value), short]
    end
    both.zip([3, 1]) do |data, seconds|
      expect(data[:duration_ns]).to be >= seconds * 1_000_000_000
      expect(slept(data)).to be_within(data[:duration_ns] / 50).of(data[:duration_ns])
    end
  end

  it "has limits" do
    expect(%w[31 0 -1 x NaN 1e400].map { |seconds| get("/debug/pprof/profile?seconds=#{seconds}").code }.uniq).to eq(["400"])
    sockets = Array.new(2) { TCPSocket.new("127.0.0.1", @port.number).tap { |one| one.write("GET /debug/pprof/profile?seconds=8 HTTP/1.1\r\nHost: x\r\n\r\n") } }
    refused = wait_until("a refusal") { get("/debug/pprof/profile?seconds=0.01").then { |answer| answer if answer.code == "429" } }
    expect(refused["retry-after"]).to eq("5")
    sockets.each { |socket| expect(socket.readpartial(20)).to start_with("HTTP/1.1 200") }
  ensure
    sockets&.each(&:close)
  end

  it "leaves the program its own session on demand" do
    get("/own/start")
    expect(get("/debug/pprof/profile?seconds=0.1").code).to eq("200")
    expect(get("/own/stop").body).to eq("Array")
  end

  it "is what go tool pprof asks for" do
    wait_until("work") do
      out, err, status = run_program(["go", "tool", "pprof", "-top", "-sample_index=cpu", "-timeout=60", "http://127.0.0.1:#{@port}/debug/pprof/profile?seconds=1"],
                                     env: { "PPROF_TMPDIR" => tmpdir }, timeout: 90)
      expect(status).to be_success, err
      out.match?(/burn/)
    end
  end
end
