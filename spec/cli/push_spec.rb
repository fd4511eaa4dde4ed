# frozen_string_literal: true

require "rperf_push/cli"
require "rperf_push/cli/commands/push"
require_relative "../support/parca_client"
require_relative "../support/fake_parca"
require_relative "../support/pprof_builder"
require_relative "../support/pprof_profile"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope"

RSpec.describe "rperf-push push", :once, :waiting do
  include CommandLine

  before { @fake_server = FakePyroscope.new }
  after { @fake_server.stop }

  attr_reader :fake_server

  def push(*paths, **env)
    rperf_push("push", "--server", fake_server.url, *paths, env: env.transform_keys { |key| "RPERF_PUSH_#{key.upcase}" })
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

  def sent = fake_server.received.map { |received| received.labels.to_h["service_name"] }

  it "uploads a file as it is" do
    ended = push(path = file, "--application", "shop")
    expect([ended.status, ended.err]).to eq([0, ""])
    expect(ended.out).to eq("#{path}: 1 samples to #{fake_server.url} as shop\n")
    expect(fake_server.accepted.map(&:raw)).to eq([File.binread(path)])
    expect(sent).to eq(["shop"])
  end

  it "compresses what is not compressed" do
    ended = push(path = file(gzip: false))
    expect(ended.status).to eq(0), ended.all
    expect(Zlib.gunzip(fake_server.accepted.first.raw)).to eq(File.binread(path))
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
    expect(fake_server.violations).to eq([])
  end

  describe "of a file with values of several groups" do
    cpu, memory, custom = PyroscopeClient::CPU, "memory:alloc_space:bytes:space:bytes", "custom:retries:tries:custom:count"
    types = [%w[cpu nanoseconds], %w[alloc_objects count], %w[alloc_space bytes], %w[retries tries]]

    # One of ours: it says so.
    def mixed(types, *samples)
      profile = PprofBuilder.new(types:)
      samples.each { |sample| profile.sample(*sample) }
      profile.message.comment << profile.string("rperf-push 0.1.0")
      File.binwrite("#{tmpdir}/mixed.pb.gz", profile.gzip)
      "#{tmpdir}/mixed.pb.gz"
    end

    it "sends each as a profile of its own, with its period, and nothing twice" do
      path = mixed(types, [%w[a root], [20, 0, 0, 0]], [%w[b root], [30, 2, 80, 0]], [%w[c root], [0, 3, 120, 7], { "tenant" => "x" }])
      ended = push(path, application_name: "shop")
      expect(ended.to_a).to eq(["#{path}: 2 samples of process_cpu, 2 samples of memory, 1 samples of custom to #{fake_server.url} as shop\n", "", 0])
      client = PyroscopeClient.new(fake_server.url)
      expect(client.profile_types).to contain_exactly(cpu, memory, memory.sub("space:bytes", "objects:count"), custom)
      sums = [cpu, memory, custom].map { |type| client.total(type, '{service_name="shop"}') }
      expect([sums, fake_server.violations]).to eq([[50, 200, 7], []])
      profiles = fake_server.accepted.map { |one| PprofProfile.from_bytes(one.raw) }
      expect(profiles.map(&:default_sample_type)).to eq(%w[cpu alloc_objects retries])
      expect(profiles.last.samples.map { |one| [one.stack.map(&:name), one.labels] }).to eq([[%w[c root], { "tenant" => "x" }]])
    end

    describe "and of levels" do
      alloc, inuse = %w[memory:alloc_objects:count:space:bytes memory:inuse_objects:count:space:bytes]
      with_levels = [%w[cpu nanoseconds], %w[alloc_objects count], %w[alloc_space bytes], %w[inuse_objects count], %w[inuse_space bytes]]
      samples = [[%w[a root], [20, 2, 80, 0, 0]], [%w[b root], [0, 5, 200, 3, 120]]]

      def instead(fake_server)
        self.fake_server.stop
        @fake_server = fake_server
      end

      it "sends what is in use as a profile without a duration, which no server adds up" do
        instead(FakeParca.new)
        ended = push(path = mixed(with_levels, *samples), backend: "parca", application_name: "shop")
        expect(ended.to_a).to eq(["#{path}: 1 samples of process_cpu, 2 samples of memory, 1 samples of memory in use to #{fake_server.url} as shop\n", "", 0])
        client = ParcaClient.new(fake_server.url)
        ids = ["#{alloc}:delta", inuse].flat_map { |id| [id, id.sub("_objects:count", "_space:bytes")] }
        expect(client.profile_types).to contain_exactly("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", *ids)
        expect(ids.map { |id| client.total(id, ParcaClient.service("shop")) }).to eq([7, 280, 3, 120])
        expect([fake_server.crashes, fake_server.violations]).to eq([[], ["no duration_nanos"]]) # which is what makes it a level
      end

      it "keeps both where a server has one profile in a millisecond" do
        instead(FakePyroscope.new(rules: :v1))
        expect(push(mixed(with_levels, *samples), application_name: "shop").to_a).to match([String, "", 0])
        client = PyroscopeClient.new(fake_server.url)
        ids = [alloc, inuse].flat_map { |id| [id, id.sub("_objects:count", "_space:bytes")] }
        expect(client.profile_types).to contain_exactly(cpu, *ids)
        expect(ids.map { |id| client.total(id, '{service_name="shop"}') }).to eq([7, 280, 3, 120])
        expect(fake_server.accepted.map { |one| PprofProfile.from_bytes(one.raw).duration_nanos }).to eq([1_000_000_000, 1_000_000_000, 0])
      end

      it "takes the duration from a file of nothing but levels, too" do
        instead(FakeParca.new)
        RperfPush.save("#{tmpdir}/heap.pb.gz", { mode: :heap, start_time_ns: Time.now.to_i * 1_000_000_000, duration_ns: 2_000_000_000, label_sets: [{}],
                                                 aggregated_samples: [[[["a.rb", "A#a"]], 3, 1, 0]], values: { inuse_space: [120] },
                                                 units: { inuse_objects: "count", inuse_space: "bytes" } })
        expect(push("#{tmpdir}/heap.pb.gz", backend: "parca").all).to match(/: 1 samples to /)
        expect(ParcaClient.new(fake_server.url).profile_types).to contain_exactly(inuse, inuse.sub("_objects:count", "_space:bytes"))
      end

      it "leaves together what other producers measure together" do
        instead(FakeParca.new)
        go = PprofBuilder.new(types: with_levels.drop(1)).sample(%w[a], [2, 80, 1, 40])
        go.message.period_type.type, go.message.period_type.unit = go.string("space"), go.string("bytes")
        File.binwrite("#{tmpdir}/go.pb.gz", go.gzip)
        expect(push("#{tmpdir}/go.pb.gz", backend: "parca").status).to eq(0)
        expect(fake_server.accepted.map(&:raw)).to eq([File.binread("#{tmpdir}/go.pb.gz")])
      end
    end

    it "leaves out a group without a sample, and tells which one failed" do
      expect(push(mixed(types, [%w[a root], [20, 0, 0, 5]])).out).to match(/: 1 samples of process_cpu, 1 samples of custom to /)
      fake_server.stop
      @fake_server = FakePyroscope.new(rules: :v1)
      ended = push(path = mixed(types, [%w[a root], [20, 0, 0, 0]], [%w[a root], [0, 0, 0, 5], { "%GVL" => "wait" }]))
      expect([ended.status, ended.out]).to eq([1, ""])
      expect(ended.err).to match(/\A#{path}: HTTP 400: .*%GVL.* \(values of custom; those before are sent\)$/)
      expect(fake_server.accepted.size).to eq(1)
    end

    # Behind the good file: fields that are no message, a list that ends too early, texts that are not there, a time of 70 bits.
    it "goes on after one that is damaged, wherever it is" do
      path = mixed(types, [%w[a root], [20, 2, 80, 5]])
      good = Zlib.gunzip(File.binread(path))
      damages = { type: "\x08\x01", period: "\x58\x01", sample: "\x10\x01", values: "\x12\x03\x12\x01\x80", text: "\x0A\x0A\x08#{"\x80" * 8}\x40",
                  comment: "\x68\x7F", time: "\x48#{"\xFF" * 9}\x7F" }
      wrong = damages.map { |name, bytes| "#{tmpdir}/#{name}".tap { |one| File.binwrite(one, good + bytes.b) } }
      ended = push(*wrong, path)
      expect([ended.err.lines, ended.status]).to eq([wrong.map { |one| "#{one}: not a pprof file\n" }, 1])
      expect(ended.out).to start_with("#{path}: 1 samples of process_cpu, 1 samples of memory, 1 samples of custom to ")
    end

    it "is taken or refused, whichever bit of it is wrong" do
      good = Zlib.gunzip(File.binread(mixed(types, [%w[a root], [20, 0, 0, 0]], [%w[b], [0, 2, 80, 5]])))
      answers = good.bytesize.times.to_a.product([0x02, 0x20, 0x80]).map do |at, bit|
        File.binwrite(path = "#{tmpdir}/one", good.dup.tap { |bytes| bytes.setbyte(at, bytes.getbyte(at) ^ bit) })
        RperfPush::CLI::ProfileFile.new(path).parts(apart: true).size
      rescue RperfPush::CLI::ProfileFile::Unfit
        :refused
      end
      expect(answers.tally).to include(:refused => be > 100, 3 => be > 100)
    end

    it "is one file in a directory" do
      path = mixed(types, [%w[a root], [20, 2, 80, 5]])
      expect(rperf_push("push", "--directory", "#{tmpdir}/to", path).out).to include(": 1 samples to #{tmpdir}/to")
      expect(Dir["#{tmpdir}/to/*"].map { |one| PprofProfile.read(one).samples.first.values }).to eq([[20, 2, 80, 5]])
    end

    it "takes what another producer measures for what its period says" do
      others = PprofBuilder.new(types: [%w[samples count], %w[cpu nanoseconds]]).sample(%w[a], [1, 20])
      File.binwrite("#{tmpdir}/go.pb.gz", others.gzip)
      expect(push("#{tmpdir}/go.pb.gz").status).to eq(0)
      expect(PyroscopeClient.new(fake_server.url).profile_types).to include("process_cpu:samples:count:cpu:nanoseconds", cpu)
      expect(fake_server.accepted.map(&:raw)).to eq([File.binread("#{tmpdir}/go.pb.gz")])
    end

    it "gives memory alone its own name and period, too" do
      data = { mode: :alloc, aggregated_samples: [[[["a.rb", "A#a"]], 3, 1, 0]], label_sets: [{}], values: { alloc_space: [120] },
               units: { alloc_objects: "count", alloc_space: "bytes" } }
      RperfPush.save("#{tmpdir}/alloc.pb.gz", data)
      expect(push("#{tmpdir}/alloc.pb.gz").all).to match(/: 1 samples to /)
      expect(PyroscopeClient.new(fake_server.url).profile_types).to include(memory)
    end
  end

  it "takes names that are not ASCII without a locale" do
    ended = rperf_push("push", "--server", fake_server.url, "--application", "küche", path = file("löffel"), env: { "LC_ALL" => "C" })
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
    expect(fake_server.received).to be_empty
  end

  it "keeps Parca alive, and takes to it what is fit, however old" do
    fake_server.stop
    @fake_server = FakeParca.new
    good = file("good", time_nanos: (Time.now.to_i - 7200) * 1_000_000_000)
    ended = push(file("empty") { |message| message.sample.clear }, file("untyped") { |message| message.period_type = nil }, good,
                 backend: "parca")
    expect(ended.out).to eq("#{good}: 1 samples to #{fake_server.url} as #{fake_server.received.dig(0, :labels).to_h["service_name"]}\n")
    expect([fake_server.crashes, fake_server.accepted.map(&:raw)]).to eq([[], [File.binread(good)]])
  end

  it "does not unpack without end, and says how to raise the limit" do
    File.binwrite(path = "#{tmpdir}/bomb", Zlib.gzip("\0" * 300 * 1024 * 1024))
    ended = push(path)
    expect([ended.status, ended.err])
      .to eq([1, "#{path}: unpacked has more than 268435456 bytes: to read it all the same, raise --max-bytes (in Ruby max_bytes:) above 268435456\n"])
    expect(rperf_push("push", "--server", fake_server.url, "--max-bytes", "100", file).err).to match(/: has more than 100 bytes: /)
    expect(rperf_push("push", "--max-bytes", "0", file).to_a).to eq(["", "rperf-push: push: max_bytes must be a number of bytes above 0, got 0\n", 1])
  end

  it "reads no more fields than a profile of its size may have" do
    texts = "\x32\x00".b * 1_000_000
    path = file("bomb").tap { |one| File.binwrite(one, Zlib.gzip(Zlib.gunzip(File.binread(one)) + texts)) }
    ended = rperf_push("push", "--server", fake_server.url, "--max-bytes", (3 * 1024 * 1024).to_s, path)
    expect([ended.status, ended.err]).to eq([1, "#{path}: has more fields than a profile of 3145728 bytes\n"])
  end

  it "says that a profile is too old, and does not send it" do
    ended = push(path = file(time_nanos: (Time.now.to_i - 7200) * 1_000_000_000))
    expect([ended.status, ended.err]).to match([1, /\A#{path}: the profile is 2.0 hours old, the backend takes it for 55 minutes\n\z/])
    expect(fake_server.received).to be_empty
  end

  it "sends a profile without a time as one of now" do
    expect(push(file(time_nanos: 0)).status).to eq(0)
  end

  it "tells labels that servers of old rules refuse" do
    fake_server.stop
    @fake_server = FakePyroscope.new(rules: :v1)
    ended = push(path = file(labels: { "%GVL" => "wait" }))
    expect([ended.status, ended.err]).to match([1, /\A#{path}: HTTP 400: .*%GVL.*\nServers before Pyroscope 2 allow label names of letters/])
  end

  it "tells one that is too large" do
    ended = push(path = file { |message| message.string_table << ("x" * 5 * 1024 * 1024) })
    expect([ended.status, ended.err]).to match([1, /\A#{path}: HTTP 400: .*\nIt holds 5.0 MiB uncompressed; 1.9 MiB are taken for sure.\n\z/])
  end

  it "tries the others no more when there is no connection" do
    fake_server.stop
    ended = push(first = file("first"), file("second"), file("third"))
    expect([ended.status, ended.out]).to eq([1, ""])
    expect(ended.err).to match(/\A#{first}: could not connect to .*: Connection refused\n.*\nrperf-push: no connection, 2 more not tried\n\z/)
  end

  it "names errors in the settings once" do
    ended = push(file("first"), file("second"), frequency: "fast")
    expect(ended.err.lines.size).to eq(1)
    expect(ended.err).to match(/\Arperf-push: .*FREQUENCY must be an integer/)
  end

  it "needs a file" do
    expect(rperf_push("push").to_a).to eq(["", "rperf-push: push needs a file\n", 1])
  end

  # In this process, for what happens while it waits.
  describe RperfPush::CLI::Commands::Push do
    def run(path, &while_waiting)
      described_class.new(wait: while_waiting).run(["--server", fake_server.url, path])
    end

    it "tries again when the server asks for it" do
      waits = []
      fake_server.fault(status: 503, retry_after: 7)
      status = nil
      expect do
        status = run(file) { |seconds| waits << seconds and fake_server.fault }
      end.to output(/1 samples/).to_stdout
      expect([status, waits]).to eq([0, [7.0]])
    end

    it "gives up in the end, and waits no longer than half a minute" do
      waits = []
      fake_server.fault(status: 429, retry_after: 900)
      status = nil
      expect { status = run(file) { |seconds| waits << seconds } }.to output(/HTTP 429: told to answer 429\nThe server limits/).to_stderr
      expect([status, waits, fake_server.requests]).to eq([1, [30, 30], 3])
    end

    it "sends nothing twice that may have been stored" do
      fake_server.fault(status: 504)
      expect { run(file) { raise "waits" } }.to output(/HTTP 504/).to_stderr
      expect(fake_server.requests).to eq(1)
    end
  end
end
