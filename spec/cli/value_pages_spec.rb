# frozen_string_literal: true

require "rperf_push"
require "shellwords"
require_relative "../../examples/support/shop_process"

# The pages about memory, contention and samples of one's own: what they tell people to write works, and shows what they say.
RSpec.describe "The pages about values", :once, :waiting do
  include CommandLine

  page = ->(name) { File.read(File.expand_path("../../docs/#{name}.md", __dir__)) }
  blocks = ->(text, language) { text.scan(/^```#{language}\n(.*?)^```/m).flatten }

  around { |example| Dir.chdir(tmpdir) { example.run } }

  # @return [String] what the program prints
  def ruby(code, before: "")
    out, err, status = run_ruby("#{before}\n#{code}")
    expect([err, status.success?]).to eq(["", true])
    out
  end

  # @return [CommandLine::Ended] of a line such as "rperf-push report --top"
  def command(line, env: {})
    ended = rperf_push(*line.shellsplit.drop(1), env:)
    expect([line, ended.status]).to eq([line, 0]), ended.all
    ended
  end

  describe "docs/memory.md" do
    text = page.("memory")
    found = text[/^## A leak, found.*?(?=^## )/m]
    work = <<~RUBY
      Book = Struct.new(:title)
      Kept = []
      finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 1
      1_000.times { |i| Kept << Book.new(i) } until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > finish
      GC.start
    RUBY

    before { File.write("work.rb", work) }

    it "has commands that show who creates what" do
      lines = blocks.(text[/\A.*?(?=^## )/m], "sh").flat_map(&:lines).map(&:chomp)
      expect(lines.size).to eq(5)
      shown = lines.map { |line| command(line) }
      expect(shown[1].out).to match(/count .*Book \(<class>\)/)
      expect(shown[2].out).to match(/B .*Book \(<class>\)/)
      expect(shown[3].out).to match(/^Book \(<class>\)\n.* callers:/m)
      expect(shown[4].all).to include("allocated objects")
      command(blocks.(text, "sh").flat_map(&:lines).find { |line| line.include?("--alloc-interval 1") }.chomp)
      expect(command("rperf-push report --top objects.json.gz").out).to match(/ (9\d|100)\.\d%  Book \(<class>\)/)
    end

    it "has a command that shows what is alive" do
      line = found[/`(rperf-push stat -m heap .*?)`/, 1]
      expect(command(line).all).to match(/[1-9][\d,]+ +\[Ruby +\] objects alive at the last GC .*\n.* Book$/)
    end

    it "has Ruby that works" do
      expect(blocks.(text, "ruby").size).to eq(3)
      blocks.(text, "ruby").each { |code| ruby(code.sub("|config|", "|config| config.enabled = false;"), before: "def work = 100.times { Object.new }") }
    end

    it "finds the leak of a process that runs, by the age of what it keeps" do
      File.write("leaks.rb", "require 'rperf_push/control'\nLEAK = []\nSTDOUT.sync = true\nputs 'runs'\nloop { 100.times { LEAK << Object.new; 5.times { 'x' * 10 } }; sleep 0.001 }")
      reader, writer = IO.pipe
      pid = Process.spawn(CommandLine.silence, RbConfig.ruby, "-I", RubyProgram::LIB, "leaks.rb", out: writer)
      writer.close
      reader.gets
      attach, report = blocks.(found, "sh").last.lines.map(&:chomp)
      command(attach.sub("PID", pid.to_s).sub("--seconds 60", "--seconds 5"))
      shown = command(report).out
      expect(shown).to match(/^ gcs:\n/).and match(/[1-9][\d,]* count .* (?:2-3|4-7|8-15|16-63|64\+)$/)
    ensure
      Process.kill(:KILL, pid)
      Process.wait(pid)
      reader.close
    end

    # Its own port and folder. How fast the leak grows is a matter of the machine: the shop is visited until it stands out.
    it "finds the leak of the shop" do
      steps = blocks.(found, "sh")[0]
      env = steps[/^export (.*)$/, 1].shellsplit.to_h { |one| one.split("=", 2) }
      expect(steps).to include("puma -C examples/shop/puma.rb", "examples/shop/load.rb http://127.0.0.1:9292 --seconds 100")
      shop = ShopProcess.new({ **env, "RPERF_PUSH_DIRECTORY" => "#{tmpdir}/profiles" })
      top, method = blocks.(found, "sh")[1].scan(/^\$ (.*)$/).flatten.map { |line| line.sub("/tmp/profiles", "#{tmpdir}/profiles") }
      stands_out = Array.new(10).any? do
        shop.serve(seconds: 12, clients: 4)
        Dir["#{tmpdir}/profiles/*"].any? && command(top).out[/^ Cumulative:.*?([\d.]+)%  Shop::Catalog#candidates/m, 1].to_f > 20
      end
      warn shop.log unless shop.stop # how Puma ends is for the specs of servers
      expect(stands_out).to be(true), command(top).out
      expect(command(method).out).to match(/^Shop::Catalog#candidates .*^  callers:\n.*Shop::Catalog#search.*% *\) \| +\d+ \| +with_stock/m)
    ensure
      shop&.stop
    end
  end

  it "docs/contention.md has a program that shows who waits" do
    shown = ruby(blocks.(page.("contention"), "ruby").first)
    expect(shown).to match(/ms .*Thread::Mutex#synchronize/)
  end

  it "docs/contention.md has a program whose lock shows who held it" do
    File.write("lock.rb", blocks.(page.("contention"), "ruby").last)
    record, report = page.("contention").scan(/^\$ (rperf-push .*)$/).flatten
    command(record)
    waited, held = command(report).out.match(/^  callers:\n +([\d.]+) ms .*Object#read\n.*^  callees:\n +([\d.]+) ms .*Object#refresh/m).captures.map(&:to_f)
    expect(waited).to be > 300
    expect(held).to be_between(500, 5_000)
  end

  it "docs/samples.md has programs that count, and a command that shows it" do
    declared, counted = blocks.(page.("samples"), "ruby")
    expect(ruby("data = RperfPush.start(mode: :custom) do\n#{declared}\nend\nputs data[:mode], data[:units].to_a.join(' '), data[:values].transform_values(&:sum).to_a.join(' ')"))
      .to eq("bytes_sent\nbytes_sent bytes samples count cache_misses count\nsamples 1 cache_misses 1\n")
    expect(ruby(counted)).to match(/^\s*3 .*Object#fetch/)
    ruby("RperfPush.save('FILE', RperfPush.start(mode: :custom) do\n#{declared}\nend)")
    line = page.("samples")[/`(rperf-push report --value bytes_sent FILE)`/, 1]
    expect(command(line).out).to match(/ 0\.5 KB 100\.0%  /)
  end
end
