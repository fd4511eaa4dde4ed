# frozen_string_literal: true

require "rperf_push"
require "rperf_push/base/printable"
require_relative "../support/listening_process"

# A program's names, labels and files, and what others say, reach a terminal as text that it shows and does not obey.
RSpec.describe "What commands print", :once, :waiting do
  include CommandLine

  evil = "a\e]0;title\a\e[2J\u009B31m\u202Ename\u007F\rx\nfake row"

  before do
    @file = "#{tmpdir}/p.json.gz"
    data = { mode: :cpu, frequency: 99, aggregated_samples: [[[["#{tmpdir}/code.rb", evil, 1]], 50_000_000, 1, 1], [[["b#{evil}", "plain", 1]], 20_000_000, 1, 0]], label_sets: [{}, { "key" => evil }] }
    RperfPush.save(@file, data)
    RperfPush.save("#{tmpdir}/q.json.gz", data.merge(aggregated_samples: [[[["#{tmpdir}/code.rb", evil, 1]], 90_000_000, 1, 1]]))
    File.binwrite("#{tmpdir}/code.rb", "x # \e[31m\u202E\xFF".b)
  end

  # Where a terminal would obey. A carriage return and a newline may stand in no name, either.
  def obeyed(text) = text.b.force_encoding("UTF-8").scrub { |bytes| raise "invalid bytes: #{bytes.inspect}" }.scan(RperfPush::Printable::IN_A_TEXT)

  def expect_shown(ended, shown = /\\u001b/i)
    expect(obeyed(ended.all)).to eq([])
    expect(ended.all).to match(shown)
    expect(ended.all).not_to match(/^fake row/)
  end

  [%w[report], %w[report --top], %w[report --text], %w[report --collapsed], %w[report --dot], %w[report --method plain], %w[report --method title], %w[report --format table], %w[report --format table-json],
   %w[report --by-label key]].each do |arguments|
    it "is harmless for #{arguments.join(" ")}" do
      expect_shown(rperf_push(*arguments, @file))
      expect(obeyed(File.read("#{tmpdir}/out"))).to eq([]) if rperf_push(*arguments, "-o", "#{tmpdir}/out", @file).status.zero?
    end
  end

  [%w[diff], %w[diff --format table], %w[diff --format table-json], %w[diff --collapsed], %w[diff --method title]].each do |arguments|
    it "is harmless for #{arguments.join(" ")}" do
      expect_shown(rperf_push(*arguments, @file, "#{tmpdir}/q.json.gz"))
    end
  end

  it "is harmless for what an argument or a file's name brings into an error" do
    %w[report diff view push attach stacks top live check run record stat exec trace help].each do |name|
      ended = rperf_push(name, "--\e[31m\u202Eno", "\e[31m\u009Bx", "y")
      expect(obeyed(ended.all)).to eq([]), name
    end
    expect_shown(rperf_push("report", "#{tmpdir}/\e[31m"))
    expect_shown(rperf_push("\e[31m"), /\\e/) # as Ruby inspects it
  end

  it "stays the same JSON" do
    table = rperf_push("report", "--format", "table-json", @file)
    expect(JSON.parse(table.out).map { |row| row["method"] }).to include(evil)
  end

  it "is harmless for programs that are run, traced and recorded" do
    File.write("#{tmpdir}/program.rb", "eval('def busy = (till = now + 0.3; 1.times { nil } until now > till)', nil, #{"/x/#{evil}.rb".dump})\ndef now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)\nbusy\n")
    [%w[record -p], %w[record -v -o] + ["#{tmpdir}/r.txt"], %w[exec], %w[stat -v], %w[trace], %w[trace --report graph], %w[trace --report tree], %w[trace --report callgrind], %w[trace --report dot],
     %w[trace --report objects -m alloc]].each do |arguments|
      expect(obeyed(rperf_push(*arguments, RbConfig.ruby, "#{tmpdir}/program.rb").all)).to eq([]), arguments.join(" ")
    end
    expect(File.read("#{tmpdir}/r.txt")).to include('\u001B]0;title')
    expect(obeyed(File.read("#{tmpdir}/r.txt"))).to eq([])
  end

  it "is harmless for processes that are looked into" do
    sockets = "#{tmpdir}/sockets"
    program = ListeningProcess.new(sockets, <<~RUBY, profiles: "#{tmpdir}/profiles")
      $0 = "title\\e[31m"
      Thread.current.name = #{evil.dump}
      eval('def busy = (puts "ready"; loop { 1.times { nil } })', nil, #{"/x/#{evil}.rb".dump})
      RperfPush.label(key: #{evil.dump}) { busy }
    RUBY
    env = { "RPERF_PUSH_CONTROL_SOCKET" => sockets }
    [%w[ps], %w[ps --json]].each { |arguments| expect(obeyed(rperf_push(*arguments, env:).all)).to eq([]) }
    [%w[stacks], %w[stacks --json], %w[top --count 2], %w[top --count 2 --by key], %w[attach --trace -s 0.2 -o] + ["#{tmpdir}/t.txt"]].each do |arguments|
      ended = rperf_push(*arguments, program.pid.to_s, env:)
      expect([ended.status, obeyed(ended.all)]).to eq([0, []]), arguments.join(" ")
      expect(ended.all).to match(/\\u001b/i).or(include("wrote")).or(include("cpu by method"))
    end
  ensure
    program&.stop
  end

  it "goes through one printer" do
    files = Dir[File.expand_path("../../lib/rperf_push/{cli,cli/*}.rb", __dir__)].reject { |path| path.end_with?("/printer.rb") }
    lines = files.flat_map { |path| File.readlines(path).map { |line| "#{File.basename(path)}: #{line.strip}" } }
    expect(lines.grep(/\A\w+\.rb: (?:puts|print|warn|pp?) |\$std(?:out|err)\.(?:puts|write|<<)|(?:then|else|[{|]) puts\b/)).to eq([])
  end
end
