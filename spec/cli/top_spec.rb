# frozen_string_literal: true

require "pty"
require "rperf_push"
require "rperf_push/cli/top_screen"
require_relative "../support/listening_process"

RSpec.describe "rperf-push top", :once, :waiting do
  include CommandLine

  let(:sockets) { "#{tmpdir}/sockets" }
  let(:program) do
    ListeningProcess.new(sockets, <<~RUBY)
      def search = 1000.times { "a".hash }
      Thread.new { sleep }
      puts "ready"
      loop { RperfPush.label(endpoint: "GET /search") { search; RperfPush.sample(3, name: :hits) } }
    RUBY
  end

  after { program.stop }

  # What it prints, once the program had its turn meanwhile: in a second on a busy machine it may have none.
  def top_once(pattern, *options)
    wait_until(pattern.inspect) do
      ended = rperf_push("top", program.pid.to_s, *options, env: program.env)
      expect([ended.err, ended.status]).to eq(["", 0])
      ended.out if ended.out.match?(pattern)
    end
  end

  it "shows methods, states and the share of a core, for a pipe as well" do
    out = top_once(/^ +[\d.]+ % +[\d.]+ % {2}Object#search$/, "--count", "2", "--interval", "1")
    expect(out.scan(/^process #{program.pid}, [\d.]+ s: +[\d.]+ % of a core/).size).to eq(2)
    expect(out).to match(/^running .* blocked .* waiting for the GVL .* GC marking/)
  end

  it "shows the values of a label" do
    top_once(/SHARE {2}ENDPOINT\n +[\d.]+ % {2}GET \/search$/, "--count", "1", "--by", "endpoint")
  end

  it "shows what the program counts" do
    top_once(%r{SUM  ENDPOINT\n +[\d,]+ count  GET /search$}, "--count", "1", "--value", "hits", "--by", "endpoint")
  end

  it "shows who creates objects, and how many bytes" do
    top_once(/^ *[\d,]+ count +[\d,]+ count {2}String$.*^ +0 count +[\d,]+ count {2}Object#search$/m, "--count", "1", "--value", "alloc_objects")
    top_once(/^ *[\d.]+ [KM]B +[\d.]+ [KM]B {2}String$/, "--count", "1", "--value", "alloc_space")
  end

  it "hears keys on a terminal, and leaves it as it was" do
    out = +""
    PTY.spawn(program.env, RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "top", program.pid.to_s, "--interval", "0.1") do |read, write, pid|
      await = lambda do |text|
        out.clear
        wait_until(text) do
          out << read.readpartial(4096)
          out.include?(text)
        end
      end
      await.call("cpu by method")
      write.write("w")
      await.call("wall by method")
      write.write("a")
      await.call("alloc_objects by method")
      write.write("w")
      await.call("wall by method")
      write.write("b")
      await.call("wall by label endpoint")
      write.write("f")
      await.call("[frozen]")
      write.write("/get\r")
      await.call('only "get"')
      write.write("q")
      await.call("\e[?25h\e[?1049l")
      expect(Process.wait2(pid).last.exitstatus).to eq(0)
    end
  end

  it "refuses intervals that it cannot keep" do
    %w[0.01 6 x].each do |interval|
      ended = rperf_push("top", "--interval", interval, "1")
      expect([ended.err, ended.status]).to eq(["rperf-push: top: interval must be from 0.05 to 5.0 seconds, got #{interval}\n", 1])
    end
  end

  describe RperfPush::CLI::TopScreen do
    let(:screen) { described_class.new(1, value: :cpu) }
    let(:window) do
      { mode: :cpu, duration_ns: 1_000_000_000, label_sets: [{}, { "%GVL": "blocked" }], values: { wall: [600_000_000, 1_000_000_000] },
        aggregated_samples: [[[["a.rb", "A#a"], ["a.rb", "<main>"]], 500_000_000, 1, 0], [[["", "IO#read\e[2J"]], 0, 2, 1]] }
    end

    it "says shares of the window's length, and lets no control character through" do
      screen.add(window)
      text = screen.lines(30).join("\n")
      expect(text).to include("50.0 % of a core", "running 60.0 %  blocked 100.0 %", "  50.0 %    50.0 %  A#a", "   0.0 %    50.0 %  <main>")
      expect(text).not_to include("\e")
    end

    it "shows each value in turn, those that the program counts in their unit" do
      screen.add(window.merge(values: { **window[:values], bytes_sent: [5120, 0] }, units: { bytes_sent: "bytes" }))
      screen.next_value
      expect(screen.lines(30)).to include(a_string_starting_with("wall by method"), "  60.0 %    60.0 %  A#a")
      screen.next_value
      expect(screen.lines(30)).to include(a_string_starting_with("bytes_sent by method"), "          SELF           TOTAL  METHOD",
                                          "        5.0 KB          5.0 KB  A#a")
      screen.add(window)
      expect(screen.lines(30).last).to end_with("METHOD")
      screen.next_value
      expect(screen.lines(30)[2]).to start_with("cpu by method")
    end

    it "keeps what it shows while it is frozen" do
      screen.add(window)
      screen.toggle_freeze
      screen.add(window.merge(duration_ns: 2_000_000_000))
      expect(screen.lines(30).first).to include("1.00 s", "[frozen]")
      screen.toggle_freeze
      expect(screen.lines(30).first).to include("2.00 s")
    end
  end
end
