# frozen_string_literal: true

require "json"
require "rperf_push"

# `inherit: true`: a session on demand and all Ruby programs below it, each time with real ones.
RSpec.describe "RperfPush.start(inherit: true)", :once, :waiting do
  include CommandLine

  prelude = <<~RUBY
    require "json"
    def busy(seconds)
      from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
    end
    # pid => seconds in busy
    def by_process(data)
      of_busy = data[:aggregated_samples].select { |frames,| frames.any? { |_, label| label == "Object#busy" } }
      of_busy.group_by { |sample| data[:label_sets][sample[3]][:"%pid"].to_s }.transform_values { |samples| samples.sum { |sample| sample[1] } / 1e9 }
    end
    def windows(pid) = Dir.glob("\#{ENV.fetch("RPERF_PUSH_INHERITED_DIR")}/\#{pid}-*.pb.gz")
    def say(value) = $stdout.puts(JSON.generate(value)) || $stdout.flush
  RUBY

  define_method(:program) { |name, code| "#{tmpdir}/#{name}.rb".tap { |path| File.write(path, "#{prelude}#{code}") } }

  # @return [Array] what it said
  define_method(:said) do |code, env = {}|
    env = { **CommandLine.silence, "TMPDIR" => tmpdir, **env }
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", program("parent", code)], env:, timeout: 120)
    expect([err, status.exitstatus]).to eq(["", 0])
    expect(sessions).to eq([])
    out.lines.map { |line| JSON.parse(line) }
  end

  define_method(:sessions) { Dir.glob("#{tmpdir}/rperf-push-*/session-*") }

  it "follows children that are forked and started, and theirs, through other programs" do
    child = program("child", "busy 0.3; puts Process.pid; $stdout.flush")
    *pids, (before, after, seen, unseen) = said(<<~RUBY)
      before = ENV.to_h
      RperfPush.start(inherit: true, frequency: 500)
      busy 0.3
      Process.wait(fork { busy 0.3; system("ruby", "#{child}"); say Process.pid })
      system("sh", "-c", "ruby #{child}; true")
      data = RperfPush.stop
      unseen = IO.popen(["ruby", "-e", "print defined?(RperfPush::Native).inspect"], &:read)
      say [before, ENV.to_h, by_process(data), unseen]
    RUBY
    expect(seen.keys).to match_array(["", *pids.map(&:to_s)])
    expect(pids.uniq.size).to eq(3)
    expect(seen.values).to all(be_between(0.25, 0.5))
    expect(after).to eq(before)
    expect(unseen).to eq("nil")
  end

  it "has what children recorded before they became other programs by exec" do
    program = program("other", "busy 0.3")
    child, seen = said(<<~RUBY)
      RperfPush.start(inherit: true)
      Process.wait(child = fork { busy 0.3; exec("ruby", "#{program}") })
      say child
      say by_process(RperfPush.stop)
    RUBY
    expect(seen).to match(child.to_s => be_between(0.5, 0.9))
  end

  it "keeps all but the last window of children that are killed, or end by exit!, and what those that go on had by then" do
    waiting = "loop { busy 0.02; sleep 0.02 }"
    child = program("child", waiting)
    (killed, running, seen) = said(<<~RUBY).first
      reader, writer = IO.pipe
      RperfPush.start(inherit: true, mode: [:cpu, :wall])
      killed = [fork { #{waiting} }, spawn("ruby", "#{child}")]
      leaving = fork { busy 0.02 until windows(Process.pid).size > 2; exit! }
      running = fork { writer.close; busy 0.02 until IO.select([reader], nil, nil, 0.02) }
      sleep 0.02 until [*killed, running].all? { |pid| windows(pid).size > 2 } # in the first, a program may still be loaded
      killed.each { |pid| Process.kill(:KILL, pid) }
      [*killed, leaving].each { |pid| Process.wait(pid) }
      data = RperfPush.stop
      sleep 2.2 # in which the one that goes on ends a window that nobody wants
      writer.close
      Process.wait(running)
      say [[*killed, leaving], [running, $?.exitstatus], by_process(data)]
    RUBY
    expect(seen.keys).to match_array([*killed, running.first].map(&:to_s))
    expect(seen.values).to all(be > 0)
    expect(running.last).to eq(0)
  end

  it "follows a child in a PID namespace of its own, which has the number of the parent, and takes nothing from it" do
    skip "no PID namespace may be made here" unless system("unshare", "--pid", "--fork", "true", err: File::NULL)

    child = program("child", "busy 0.3; say [Process.pid, Dir.exist?(ENV.fetch('RPERF_PUSH_INHERITED_DIR', '/nowhere'))]")
    parent = program("parent", <<~RUBY)
      data = RperfPush.start(inherit: true) { busy 0.3; system("unshare", "--pid", "--fork", "ruby", "#{child}"); say Process.pid }
      say by_process(data).keys
    RUBY
    env = { **CommandLine.silence, "TMPDIR" => tmpdir }
    out, err, status = run_program(["unshare", "--pid", "--fork", RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", parent], env:)
    expect([err, status.exitstatus]).to eq(["", 0])
    expect(out.lines.map { |line| JSON.parse(line) }).to eq([[1, true], 1, ["", "1"]])
    expect(sessions).to eq([])
  end

  it "samples the blocks of programs only, where it is deferred, and gives way to what they begin themselves" do
    child = program("child", <<~RUBY)
      busy 0.3
      before = RperfPush.running?
      RperfPush.profile(part: "a") { busy 0.2 }
      snapshot = by_process(RperfPush.snapshot).values.sum
      own = RperfPush.start(frequency: 50) { busy 0.3 }
      say [before, snapshot, own[:frequency], by_process(own).values.sum, RperfPush.stop]
    RUBY
    (running, snapshot, frequency, own, stopped), (seen, parts) = said(<<~RUBY)
      data = RperfPush.start(inherit: true, defer: true, lines: true) { system("ruby", "#{child}"); busy 0.2; RperfPush.profile { busy 0.3 } }
      say [by_process(data).transform_keys(&:empty?), data[:label_sets].filter_map { |set| set[:part] }]
    RUBY
    expect([running, frequency, stopped]).to eq([true, 50, nil])
    expect(own).to be_between(0.2, 0.4)
    expect(seen).to match("true" => be_between(0.25, 0.45), "false" => be_within(0.001).of(snapshot)) # of which a window was made
    expect(snapshot).to be_between(0.15, 0.29)
    expect(parts).to eq(["a"])
  end

  it "captures the allocations of the programs at the interval of the session" do
    child = program("child", "class Book; end; 100.times { Book.new }; say Process.pid")
    pid, seen = said(<<~RUBY)
      data = RperfPush.start(inherit: true, mode: :alloc, alloc_interval: 1) { system("ruby", "#{child}") }
      books = data[:aggregated_samples].select { |frames,| frames[0][1] == "Book" }
      say books.map { |sample| [data[:label_sets][sample[3]][:"%pid"], sample[1]] }
    RUBY
    expect(seen).to eq([[pid.to_s, 100]])
  end

  it "takes out of the environment what it has put in, however it ends, and nothing that the program has" do
    left, = said(<<~RUBY, { "RUBYLIB" => "/mine" })
      options, folders = ENV.values_at("RUBYOPT", "RUBYLIB")
      RperfPush.start(inherit: true) { ENV["RUBYOPT"] += " -W0"; ENV["RUBYLIB"] = "/other:\#{ENV["RUBYLIB"]}"; raise IOError } rescue IOError
      say [ENV["RUBYOPT"].split == [*options.to_s.split, "-W0"], ENV["RUBYLIB"] == "/other:\#{folders}", ENV.keys.grep(/RPERF_PUSH/), RperfPush.running?]
      ENV.delete("RUBYOPT")
      RperfPush.start(inherit: true)
    RUBY
    expect(left).to eq([true, true, [], false])
  end

  it "does not begin where it has no folder for its children, and says why" do
    answers, = said(<<~RUBY, { "RPERF_PUSH_TMPDIR" => "/proc/none" })
      before = ENV.to_h
      errors = [-> { RperfPush.start(inherit: true) }, -> { RperfPush.start(inherit: true) { raise "not reached" } }, -> { RperfPush.start(inherit: :spawn) }].map do |start|
        start.call
      rescue SystemCallError, ArgumentError => e
        [e.class.name, e.message[/[^@]*/].strip]
      end
      say [errors, RperfPush.running?, ENV.to_h == before]
    RUBY
    missing = ["Errno::ENOENT", "No such file or directory"]
    expect(answers).to eq([[missing, missing, ["ArgumentError", "inherit must be :fork, true or false, got :spawn"]], false, true])
  end

  # Says, in a file of its own, what is left of a session that has ended somewhere else, as soon as it has. Where it never does, nobody waits
  # for it, nor ends it.
  outliving = <<~'RUBY'
    def outlive
      Process.setrlimit(:CPU, 100)
      busy 0.02 while RperfPush.running? || ENV.key?("RPERF_PUSH_INHERITED")
      below = IO.popen(["ruby", "-e", "print defined?(RperfPush).inspect"], &:read)
      File.write("#{ENV.fetch("NOTES")}/.#{Process.pid}", JSON.generate([ENV.to_h, below]))
      File.rename("#{ENV.fetch("NOTES")}/.#{Process.pid}", "#{ENV.fetch("NOTES")}/#{Process.pid}")
    end
    def until_seen(*pids) = (busy 0.02 until pids.all? { |pid| windows(pid).any? })
  RUBY

  # Runs a program that says its environment and its children, and ends while they live.
  define_method(:outlived) do |code, env = {}|
    Dir.mkdir(notes = "#{tmpdir}/notes")
    env = { **CommandLine.silence, "TMPDIR" => tmpdir, "NOTES" => notes, **env }
    child = program("child", "#{outliving}outlive")
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", program("parent", "#{outliving}#{code.gsub("CHILD", child)}")], env:, timeout: 120)
    before, pids = JSON.parse(out.lines.first)
    seen = pids.map { |pid| wait_until("the note of #{pid}") { File.exist?("#{notes}/#{pid}") && JSON.parse(File.read("#{notes}/#{pid}")) } }
    [before, seen, [err, status.termsig || status.exitstatus], out.lines.drop(1).map { |line| JSON.parse(line) }]
  end

  mine = { "RUBYLIB" => "/mine", "RUBYOPT" => "-W1" }
  start = <<~RUBY
    before = ENV.to_h
    RperfPush.start(inherit: true)
    reader, writer = IO.pipe
    pids = [fork { outlive }, spawn("ruby", "CHILD")]
    fork { Process.wait(fork { writer.puts(Process.pid); outlive }) }
    pids << Integer(reader.gets)
    until_seen(*pids)
    say [before, pids]
  RUBY

  it "is over in children within a window of the parent's end by a signal: they write no more, and their environment is as it was" do
    before, seen, ended, = outlived("#{start}Process.kill(:KILL, Process.pid)", mine)
    expect(ended).to eq(["", 9])
    expect(seen).to eq([[before, "nil"]] * 3)
    expect(sessions.size).to eq(1)
    expect(rperf_push("record", "-o", "#{tmpdir}/p.json", "ruby", "-e", "", env: { "TMPDIR" => tmpdir }).status).to eq(0)
    expect(sessions).to eq([])
  end

  it "is over where the process becomes another program, and in its children; nothing of it is left" do
    program("later", "say [ENV.to_h, RperfPush.running?]")
    before, seen, ended, said = outlived("#{start}exec('ruby', '-rrperf_push', '#{tmpdir}/later.rb')", mine)
    expect(ended).to eq(["", 0])
    expect(said).to eq([[before, false]])
    expect(seen).to eq([[before, "nil"]] * 3)
    expect(sessions).to eq([])
  end

  it "is over in children that live on when the parent stops it, and in one that begins or stops its own" do
    before, seen, ended, (own, stopped) = outlived(<<~RUBY, mine)
      #{start}
      Process.wait(fork { RperfPush.start(inherit: false); say [ENV.to_h == before, RperfPush.stop.nil?] })
      Process.wait(fork { data = RperfPush.stop; say [ENV.to_h == before, data.nil?] })
      RperfPush.stop
    RUBY
    expect(ended).to eq(["", 0])
    expect([own, stopped]).to eq([[true, false]] * 2)
    expect(seen).to eq([[before, "nil"]] * 3)
  end

  # An exception at each line in turn, as an interrupt may come there.
  it "leaves nothing behind where its beginning or its end is interrupted, wherever that is" do
    interrupted, = said(<<~'RUBY')
      before = ENV.to_h
      RperfPush.start(inherit: true) { nil } # what is loaded once is loaded
      files = %w[sessions/inheritance sessions/descendants injection sessions/session_folder sessions/on_demand].map { |name| "#{RperfPush::Native::LIB_DIR}/rperf_push/#{name}.rb" }
      at_line = lambda do |number, &call|
        lines = 0
        trace = TracePoint.new(:line) { |point| files.include?(point.path) && (lines += 1) == number && (trace.disable; raise IOError) }
        trace.enable(target_thread: Thread.current) { call.call }
        nil
      rescue IOError
        number
      end
      calls = { start: -> { RperfPush.start(inherit: true) }, block: -> { RperfPush.start(inherit: true) { nil } }, stop: -> { RperfPush.stop } }
      say(calls.to_h do |name, call|
        number = 0
        loop do
          RperfPush.start(inherit: true) if name == :stop
          ended = at_line.(number += 1, &call).nil?
          RperfPush.stop if RperfPush.running?
          wrong = { env: ENV.to_h == before, running: !RperfPush.running?, folders: Dir.glob("#{ENV["TMPDIR"]}/rperf-push-*/session-*").empty? }.reject { |_, right| right }
          abort("#{name} at line event #{number}: #{wrong}") if wrong.any?
          break if ended
        end
        [name, number]
      end)
    RUBY
    expect(interrupted.values).to all(be > 10)
  end

  it "never meets `rperf-push record`: both have the children" do
    child = program("child", "busy 0.3")
    parent = program("parent", "require 'rperf_push'; say by_process(RperfPush.start(inherit: true) { busy 0.3; system('ruby', '#{child}') }).size")
    ended = rperf_push("record", "-o", "#{tmpdir}/p.json.gz", parent, env: { "TMPDIR" => tmpdir }, timeout: 120)
    expect(ended.to_a).to eq(["2\n", "", 0])
    expect(RperfPush.load("#{tmpdir}/p.json.gz")[:label_sets].map { |set| set[:"%pid"] }.uniq.size).to eq(2)
    expect(sessions).to eq([])
  end
end
