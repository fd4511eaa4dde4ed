# frozen_string_literal: true

require "json"
require "rperf_push"
require "shellwords"

# rperf-push trace, and the page about it.
RSpec.describe "rperf-push trace", :once, :waiting do
  include CommandLine

  page = File.read(File.expand_path("../../docs/calls.md", __dir__))
  blocks = ->(language) { page.scan(/^```#{language}\n(.*?)^```/m).flatten }

  program = <<~RUBY
    class Shop
      def total(prices) = prices.sum { |price| taxed(price) }
      def taxed(price) = price.zero? ? 0 : price + taxed(price - 1)
    end
    puts Shop.new.total([1, 2, 3])
    exit 3 if ARGV.include?("fail")
  RUBY

  before { File.write("#{tmpdir}/work.rb", program) }

  around { |example| Dir.chdir(tmpdir) { example.run } }

  it "prints the program's calls after its output, and ends as it does" do
    ended = rperf_push("trace", "work.rb", "fail")
    expect([ended.err, ended.status]).to eq(["", 3])
    expect(ended.out).to start_with("10\nTraced: ").and match(/ 9   Shop#taxed \[recursive\] \(.*work\.rb:3\)$/).and match(/ 1   Shop#total /)
  end

  it "counts what the script calls, and nothing that comes before and after it" do
    File.write("few.rb", "class Few; end\n'x'.upcase\nat_exit { :y.to_s }\n")
    File.write("before.rb", "'x'.downcase.reverse")
    expect(rperf_push("trace", "-o", "calls.json", RbConfig.ruby, "-r", "./before", "few.rb").to_a).to eq(["", "", 0])
    tree = RperfPush.load("calls.json")[:tree]
    expect(tree.methods.map(&:label)).to match_array(%w[<main> Module#const_added Class#inherited String#upcase Kernel#at_exit Symbol#to_s])
    File.write("none.rb", "# nothing")
    expect(rperf_push("trace", "none.rb").to_a).to match([/\ATraced: .* 0 calls/, "", 0])
  end

  it "takes out of the times what tracing costs" do
    File.write("often.rb", "def often = nil\n100_000.times { often }\n")
    expect(rperf_push("trace", "-o", "calls.json", "often.rb").to_a).to eq(["", "", 0])
    expect(RperfPush.load("calls.json")[:tree].overhead_ns).to be_positive
  end

  it "lets the script run as it is where calls cannot be traced" do
    File.write("before.rb", 'require "rperf_push"; q = Queue.new; Thread.new { RperfPush.trace { q << 1; sleep } }; q.pop')
    File.write("own.rb", "puts :runs")
    ended = rperf_push("trace", RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-r", "./before", "own.rb")
    expect(ended.out).to eq("runs\n")
    expect(ended.err).to match(/\A\[rperf-push\] own\.rb \(ruby .*\) is not traced: calls are traced already\n/)
  end

  it "writes each kind of file" do
    Dir.mkdir("out")
    { "a.json.gz" => "", "a.pb.gz" => "", "callgrind.out.a" => "", "a.dot" => "" }.each_key do |name|
      expect(rperf_push("trace", "-o", "out/#{name}", "work.rb").to_a).to eq(["10\n", "", 0])
    end
    %w[a.json.gz a.pb.gz].each do |name|
      data = RperfPush.load("out/#{name}")
      at = data[:aggregated_samples].each_index.select { |index| data[:aggregated_samples][index][0].first.last == "Shop#taxed" }
      expect(data[:values][:calls].values_at(*at).sum).to eq(9)
    end
    expect(File.read("out/a.dot")).to match(/\Adigraph calls \{\n.*label="1 x\\n.*\}\n\z/m)
    expect(rperf_push("report", "--value", "calls", "out/a.pb.gz").out).to match(/9 count .*Shop#taxed/)
  end

  it "writes what callgrind_annotate reads, with the same numbers" do
    skip "callgrind_annotate is not here" unless system("which callgrind_annotate > /dev/null")

    expect(rperf_push("trace", "-o", "calls.json", "work.rb").status).to eq(0)
    tree = RperfPush.load("calls.json")[:tree]
    File.write("callgrind.out.work", tree.report(:callgrind))
    # It cuts the working directory from the names of callers' files only.
    annotate = ->(*options) { run_program(["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", *options, "#{tmpdir}/callgrind.out.work"], chdir: "/") }
    out, err, status = annotate.call
    expect([err, status.success?]).to eq(["", true])
    number = ->(text) { text.delete(",").to_i }
    expect(number[out[/^\s*([\d,]+)\s+PROGRAM TOTALS/, 1]]).to eq(tree.nodes.sum { |node| node.self + node.wait })
    taxed = tree.find("Shop#taxed").first
    expect(number[out[/^\s*([\d,]+)\s+\S*work\.rb:Shop#taxed/, 1]]).to eq(taxed.self + taxed.wait)
    out, = annotate.call("--inclusive=yes", "--tree=both")
    expect(number[out[/^\s*([\d,]+)\s+\*\s+\S*work\.rb:Shop#total/, 1]]).to eq(tree.find("Shop#total").first.total)
    expect(out).to match(/> .*work\.rb:Shop#taxed \(6x\)/)
  end

  it "traces neither the programs that the program starts, nor its children" do
    File.write("parent.rb", "'x'.upcase; system(RbConfig.ruby, '-e', '\"y\".upcase; exit!(ENV.key?(\"RPERF_PUSH_CALLS\") || defined?(RperfPush) ? 1 : 0)') or abort; Process.wait(fork { 'z'.upcase })")
    expect(rperf_push("trace", "-o", "calls.json", "parent.rb").to_a).to eq(["", "", 0])
    expect(RperfPush.load("calls.json")[:tree].find("String#upcase").sum(&:called)).to eq(1)
  end

  it "traces what the program becomes by exec, which finds the environment as it was but for what traces it" do
    File.write("becoming.rb", 'ENV["RUBYOPT"] = "-W1 " + ENV["RUBYOPT"]; exec(RbConfig.ruby, "becomes.rb")')
    File.write("becomes.rb", '"x".upcase; system(RbConfig.ruby, "-e", "print ENV[%(RUBYOPT)], ENV.keys.grep(/RPERF_PUSH_CALLS/); :y.to_s.upcase")')
    expect(rperf_push("trace", "-o", "calls.json", RbConfig.ruby, "becoming.rb", env: { "RUBYOPT" => nil }).to_a).to eq(["-W1[]", "", 0])
    expect(RperfPush.load("calls.json")[:tree].find("String#upcase").sum(&:called)).to eq(1)
  end

  it "keeps the calls until the program becomes one that is not Ruby, and goes on where it can not" do
    File.write("ends.rb", '"x".upcase; exec("/nowhere") rescue "y".upcase; exec("/bin/true")')
    expect(rperf_push("trace", "-o", "calls.json", RbConfig.ruby, "ends.rb").to_a).to eq(["", "", 0])
    expect(RperfPush.load("calls.json")[:tree].find("String#upcase").sum(&:called)).to eq(2)
  end

  it "hands on signals" do
    File.write("waits.rb", <<~RUBY)
      said = []
      %w[HUP USR1 USR2 TERM].each { |name| trap(name) { said << name } }
      %w[HUP USR1 USR2 TERM].each { |name| Process.kill(name, Process.ppid) && (sleep 0.01 until said.include?(name)) }
      print said.join(" ")
    RUBY
    expect(rperf_push("trace", "-o", "calls.json", "waits.rb").to_a).to eq(["HUP USR1 USR2 TERM", "", 0])
  end

  it "tells in one line what is wrong, before the program runs" do
    { %w[trace] => "trace needs a program", %w[trace -m heap work.rb] => "trace: mode must be :wall, :cpu, :alloc or several, got [:heap]",
      %w[trace --limit 99999999999999999999 work.rb] => "trace: limit must be from 1 to 1000000000, got 99999999999999999999",
      %w[trace --max-nodes 0 work.rb] => /trace: max_nodes must be an Integer/, %w[trace -o no/where.json work.rb] => %r{trace: no/where.json: No such file},
      %w[trace ./nothing] => "trace: ./nothing: No such file or directory", %w[trace --report x work.rb] => "trace: invalid argument: --report x" }
      .each do |arguments, message|
      ended = rperf_push(*arguments)
      expect(ended.out).to eq("")
      expect(ended.err).to match(/\Arperf-push: #{message.is_a?(Regexp) ? message : Regexp.escape(message)}.*\n\z/)
      expect(ended.status).to eq(arguments.include?("./nothing") ? 127 : 1)
    end
  end

  it "is as docs/calls.md says: each command and each program works" do
    commands = blocks["sh"].flat_map(&:lines).map(&:chomp)
    expect(commands.size).to be >= 4
    commands.each do |command|
      ended = rperf_push(*command.shellsplit.drop(1))
      expect([command, ended.err, ended.status]).to eq([command, "", 0])
    end
    RperfPush.save("calls.pb.gz", RperfPush.load("calls.json.gz"))
    page.scan(/`rperf-push (report .*?)`/).flatten.each { |command| expect(rperf_push(*command.shellsplit).status).to eq(0) }
    rubies = blocks["ruby"]
    expect(rubies.size).to be >= 2
    rubies.each do |code|
      out, err, status = run_ruby("def work = 3.times { |i| i.to_s }\n#{code}")
      expect([err, status.success?, out.empty? && code.include?("puts")]).to eq(["", true, false])
    end
  end
end
