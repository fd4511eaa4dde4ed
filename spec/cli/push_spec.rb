# frozen_string_literal: true

require "rperf_push/cli"
require "rperf_push/cli/push"
require_relative "../support/parca_double"
require_relative "../support/pprof_builder"
require_relative "../support/pyroscope_double"

RSpec.describe "rperf-push push" do
  include CommandLine

  before { @double = PyroscopeDouble.new }
  after { @double.stop }

  attr_reader :double

  def push(*paths, **env)
    rperf_push("push", "--server", double.url, *paths, env: env.transform_keys { |key| "RPERF_PUSH_#{key.upcase}" })
  end

  # A file in the example's folder.
  #
  # @yieldparam message [Google::Protobuf::MessageExts] to break a rule with
  def file(name = "profile.pb.gz", labels: {}, gzip: true, time_nanos: Time.now.to_i * 1_000_000_000)
    profile = PprofBuilder.new(time_nanos:).sample(%w[leaf root], [20, 30], labels)
    yield profile.message if block_given?
    path = "#{tmpdir}/#{name}"
    File.binwrite(path, gzip ? profile.gzip : profile.bytes)
    path
  end

  def sent = double.received.map { |received| received.labels.to_h["service_name"] }

  it "uploads a file as it is" do
    ended = push(path = file, "--application", "shop")
    expect([ended.status, ended.err]).to eq([0, ""])
    expect(ended.out).to eq("#{path}: 1 samples to #{double.url} as shop\n")
    expect(double.accepted.map(&:raw)).to eq([File.binread(path)])
    expect(sent).to eq(["shop"])
  end

  it "compresses what is not compressed" do
    ended = push(path = file(gzip: false))
    expect(ended.status).to eq(0), ended.all
    expect(Zlib.gunzip(double.accepted.first.raw)).to eq(File.binread(path))
  end

  it "knows whose the files of the directory backend are" do
    path = file("web-shop-20261121T101530.123Z-42-7.pb.gz")
    push(path)
    push(path, application_name: "other")
    push(path, "--application", "given")
    expect(sent).to eq(%w[web-shop other given])
  end

  it "takes what the directory backend writes" do
    rperf_push("check", "--directory", tmpdir, "--application", "files")
    ended = push(*Dir["#{tmpdir}/*.pb.gz"])
    expect(ended.status).to eq(0), ended.all
    expect(sent).to eq(["files"])
    expect(double.violations).to eq([])
  end

  it "takes names that are not ASCII without a locale" do
    ended = rperf_push("push", "--server", double.url, "--application", "küche", path = file("löffel"), env: { "LC_ALL" => "C" })
    expect(ended.to_a).to match([/\A#{path}: \d+ samples to .* as küche\n\z/, "", 0])
    expect(sent).to eq(%w[küche])
  end

  it "goes on after a file that is wrong" do
    File.write(wrong = "#{tmpdir}/wrong", "hello")
    ended = push(first = file("first"), wrong, "#{tmpdir}/none", tmpdir, last = file("last"))
    expect(ended.status).to eq(1)
    expect(ended.err).to eq("#{wrong}: not a pprof file\n#{tmpdir}/none: No such file or directory\n#{tmpdir}: is a directory\n")
    expect(ended.out.lines.map { |line| line[/\A[^:]+/] }).to eq([first, last])
  end

  it "sends nothing that a server may not survive" do
    empty = file("empty") { |message| message.sample.clear }
    untyped = file("untyped") { |message| message.period_type = nil }
    zero = file("zero") { |message| message.sample.each { |sample| sample.value.replace([0, 0]) } }
    cut = file("cut").tap { |path| File.truncate(path, File.size(path) - 9) }
    ended = push(empty, untyped, zero, cut)
    expect(ended.err.lines.map { |line| line.delete_prefix("#{tmpdir}/")[/\A.{20}/] })
      .to eq(["empty: a pprof witho", "untyped: a pprof wit", "zero: a pprof whose ", "cut: not a whole gzi"])
    expect(double.received).to be_empty
  end

  it "keeps Parca alive, and takes to it what is fit, however old" do
    double.stop
    @double = ParcaDouble.new
    good = file("good", time_nanos: (Time.now.to_i - 7200) * 1_000_000_000)
    ended = push(file("empty") { |message| message.sample.clear }, file("untyped") { |message| message.period_type = nil }, good,
                 backend: "parca")
    expect(ended.out).to eq("#{good}: 1 samples to #{double.url} as #{double.received.dig(0, :labels).to_h["service_name"]}\n")
    expect([double.crashes, double.accepted.map(&:raw)]).to eq([[], [File.binread(good)]])
  end

  it "does not unpack without end" do
    File.binwrite(path = "#{tmpdir}/bomb", Zlib.gzip("\0" * 80 * 1024 * 1024))
    ended = push(path)
    expect([ended.status, ended.err]).to eq([1, "#{path}: larger than 64 MiB uncompressed\n"])
  end

  it "says that a profile is too old, and does not send it" do
    ended = push(path = file(time_nanos: (Time.now.to_i - 7200) * 1_000_000_000))
    expect([ended.status, ended.err]).to match([1, /\A#{path}: the profile is 2.0 hours old, the backend takes it for 55 minutes\n\z/])
    expect(double.received).to be_empty
  end

  it "sends a profile without a time as one of now" do
    expect(push(file(time_nanos: 0)).status).to eq(0)
  end

  it "tells labels that servers of old rules refuse" do
    double.stop
    @double = PyroscopeDouble.new(rules: :v1)
    ended = push(path = file(labels: { "%GVL" => "wait" }))
    expect([ended.status, ended.err]).to match([1, /\A#{path}: HTTP 400: .*%GVL.*\nServers before Pyroscope 2 allow label names of letters/])
  end

  it "tells one that is too large" do
    ended = push(path = file { |message| message.string_table << ("x" * 5 * 1024 * 1024) })
    expect([ended.status, ended.err]).to match([1, /\A#{path}: HTTP 400: .*\nIt holds 5.0 MiB uncompressed; 1.9 MiB are taken for sure.\n\z/])
  end

  it "tries the others no more when there is no connection" do
    double.stop
    ended = push(first = file("first"), file("second"), file("third"))
    expect([ended.status, ended.out]).to eq([1, ""])
    expect(ended.err).to match(/\A#{first}: could not connect to .*: Connection refused\n.*\nrperf-push: no connection, 2 more not tried\n\z/)
  end

  it "names mistakes in the settings once" do
    ended = push(file("first"), file("second"), frequency: "fast")
    expect(ended.err.lines.size).to eq(1)
    expect(ended.err).to match(/\Arperf-push: .*FREQUENCY must be an integer/)
  end

  it "needs a file" do
    expect(rperf_push("push").to_a).to eq(["", "rperf-push: push needs a file\n", 1])
  end

  # In this process, for what happens while it waits.
  describe RperfPush::CLI::Push do
    def run(path, &while_waiting)
      described_class.new(wait: while_waiting).run(["--server", double.url, path])
    end

    it "tries again when the server asks for it" do
      waits = []
      double.fault(status: 503, retry_after: 7)
      status = nil
      expect do
        status = run(file) { |seconds| waits << seconds and double.fault }
      end.to output(/1 samples/).to_stdout
      expect([status, waits]).to eq([0, [7.0]])
    end

    it "gives up in the end, and waits no longer than half a minute" do
      waits = []
      double.fault(status: 429, retry_after: 900)
      status = nil
      expect { status = run(file) { |seconds| waits << seconds } }.to output(/HTTP 429: told to answer 429\nThe server limits/).to_stderr
      expect([status, waits, double.requests]).to eq([1, [30, 30], 3])
    end

    it "sends nothing twice that may have been stored" do
      double.fault(lost_answer: true)
      expect { run(file) { raise "waits" } }.to output(/without an answer/).to_stderr
      expect(double.requests).to eq(1)
    end
  end
end
