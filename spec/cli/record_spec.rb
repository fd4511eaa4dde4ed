# frozen_string_literal: true

require "rperf_push"
require "rperf_push/cli"
require "rperf_push/sessions/session_folder"
require "zlib"

RSpec.describe "rperf-push record", :once, :waiting, :long do
  include CommandLine

  busy = <<~RUBY
    def busy(seconds)
      from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
    end
  RUBY

  define_method(:program) do |name, code|
    path = "#{tmpdir}/#{name}.rb"
    File.write(path, "#{busy}#{code}")
    path
  end

  def record(*arguments, output: "#{tmpdir}/p.json.gz", **options)
    rperf_push("record", "-o", output, *arguments, env: { "TMPDIR" => tmpdir, **(options.delete(:env) || {}) }, **options)
  end

  def recorded = RperfPush.load("#{tmpdir}/p.json.gz")

  # Clocks know the sum of a thread. How much of it is of a method, beside loading the program, is sampled: a part that is missing or
  # counted twice is told from chance.
  def be_about(seconds) = be_between(0.6 * seconds, 1.5 * seconds)

  def time_in(data, label) = data[:aggregated_samples].sum { |frames, weight| frames.any? { |frame| frame[1] == label } ? weight : 0 } / 1e9

  it "writes a program's profile, and leaves its output, its input and its status alone" do
    code = "busy 0.2; p ARGV, $stdin.read; warn 'err'; exit 7"
    ended = rperf_push("record", "-o", "#{tmpdir}/p.json.gz", "ruby", program("plain", code), "-o", "x y", stdin: "in")
    expect(ended.to_a).to eq(["[\"-o\", \"x y\"]\n\"in\"\n", "err\n", 7])
    expect(recorded).to include(mode: :cpu, frequency: 1000, detected_thread_count: 1)
    expect(time_in(recorded, "Object#busy")).to be_about(0.2)
    expect(recorded[:label_sets].flat_map(&:keys)).not_to include(:"%pid")
    expect(recorded[:aggregated_samples].flat_map(&:first)).to include([a_string_ending_with("plain.rb"), "Object#busy", 3])
  end

  # A wait that is longer than a window is flushed in a part of its own, which begins when the window does.
  it "keeps the work beside long waits, of a parent, its children and what they start" do
    long = program("long", "def setup = busy(0.3)\nsetup\nfork { busy 0.3; sleep 7 }\nsystem(#{RbConfig.ruby.inspect}, '-e', #{"#{busy}busy 0.3; sleep 7; busy 0.3".inspect})\nProcess.waitall")
    plain = Thread.new { rperf_push("stat", "ruby", program("plain", "busy 0.4; sleep 7")) }
    expect(record("-m", "wall", long).to_a).to eq(["", "", 0])
    processes = recorded[:aggregated_samples].group_by { |_, _, _, set| recorded[:label_sets][set.to_i] }
    expect(time_in(recorded, "Object#busy")).to be >= 1.19
    expect(time_in(recorded, "Object#setup")).to be >= 0.2
    expect(processes.size).to be >= 3
    expect(plain.value.err[/([\d.]+) ms .*CPU execution/, 1].to_f).to be >= 395
  end

  it "takes a script without an interpreter, and a command after --" do
    expect(record(program("plain", "busy 0.1; puts :ran")).to_a).to eq(["ran\n", "", 0])
    expect(record("--", "ruby", program("plain", "busy 0.1; puts :ran")).to_a).to eq(["ran\n", "", 0])
  end

  gzip = /\A\x1F\x8B/n
  { "p.json" => /\A\{"/, "p.pb.gz" => gzip, "p.collapsed" => /^<main>;Object#busy/, "p.txt" => /\ATotal: /, "p" => gzip }.each do |name, form|
    it "writes the format of #{name}" do
      expect(record(program("plain", "busy 0.2"), output: "#{tmpdir}/#{name}").status).to eq(0)
      expect(File.binread("#{tmpdir}/#{name}")).to match(form)
    end
  end

  it "records both times, without lines, at a frequency" do
    expect(record("-m", "cpu,wall", "-f", "200", "--no-lines", program("plain", "busy 0.1; sleep 0.3")).status).to eq(0)
    expect(recorded).to include(mode: %i[cpu wall], frequency: 200)
    expect(recorded[:values][:wall].sum / 1e9).to be > 0.39
    expect(recorded[:aggregated_samples].flat_map(&:first).map(&:size).uniq).to eq([2])
  end

  it "follows children: forked, started, and below a shell; each is told by %pid" do
    child = program("child", "busy 0.2")
    parent = program("parent", <<~RUBY)
      busy 0.2
      Process.wait(fork { Process.wait(fork { busy 0.2 }); busy 0.2 })
      system("sh", "-c", "ruby #{child}; true") or abort
    RUBY
    expect(record(parent).to_a).to eq(["", "", 0])
    pids = recorded[:label_sets].map { |set| set[:"%pid"] }.uniq
    expect(pids.size).to eq(4)
    expect(time_in(recorded, "Object#busy")).to be_about(0.8)
    expect(recorded[:detected_thread_count]).to eq(4)
  end

  it "leaves children alone when told so" do
    parent = program("parent", "busy 0.2; Process.wait(fork { busy 0.4 }); system('ruby', '-e', 'x = 0; 5_000_000.times { x += 1 }')")
    expect(record("--no-inherit", parent).to_a).to eq(["", "", 0])
    expect(time_in(recorded, "Object#busy")).to be_about(0.2)
    expect(recorded[:label_sets].flat_map(&:keys)).not_to include(:"%pid")
  end

  it "keeps what a child had recorded that dies by exit! or SIGKILL after its first window" do
    parent = program("parent", "fork { busy 3; Process.kill(:KILL, Process.pid) }; fork { busy 3; exit! }; Process.waitall") # a window lasts 2 s
    expect(record(parent, timeout: 120).to_a).to eq(["", "", 0])
    expect(time_in(recorded, "Object#busy")).to be > 1
  end

  it "writes the profile when Ctrl-C ends the program, and tells so by the status" do
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "record", "-o", "#{tmpdir}/p.json.gz", program("long", "busy 0.3; puts :on; $stdout.flush; busy 60")]
    read, write = IO.pipe
    pid = Process.spawn(CommandLine.silence.merge("TMPDIR" => tmpdir), *command, out: write, err: File::NULL, pgroup: true)
    write.close
    expect(read.gets).to eq("on\n")
    Process.kill(:INT, -pid)
    expect(Process.wait2(pid).last.exitstatus).to eq(130)
    expect(time_in(recorded, "Object#busy")).to be > 0.18
    expect(Dir.glob("#{tmpdir}/rperf-push-*/*")).to eq([])
  end

  it "is over in its processes with their next window when it is killed itself" do
    skip "no /proc here" unless File.exist?("/proc/self/task")
    code = <<~'RUBY'
      recording = -> { Dir["/proc/self/task/*/comm"].any? { |path| File.read(path) == "rpp-collector\n" rescue nil } }
      puts recording.call
      $stdout.flush
      Process.setrlimit(:CPU, 100) # where the example fails, nobody ends it
      busy 0.02 while recording.call
      puts Process.pid
    RUBY
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "record", "-o", "#{tmpdir}/p.json.gz", program("long", code)]
    read, write = IO.pipe
    pid = Process.spawn(CommandLine.silence.merge("TMPDIR" => tmpdir), *command, out: write)
    write.close
    expect(read.gets).to eq("true\n")
    Process.kill(:KILL, pid)
    Process.wait(pid)
    expect(read.wait_readable(60) && read.gets).to match(/\A\d+\n\z/)
    expect(record(program("plain", "")).status).to eq(0)
    expect(Dir.glob("#{tmpdir}/rperf-push-*/*")).to eq([])
  end

  it "says in a line where it has no folder for its windows" do
    ran = program("ran", "File.write('#{tmpdir}/ran', '')")
    expect(record(ran, env: { "TMPDIR" => "/proc/none" }).to_a)
      .to eq(["", "rperf-push: record: the session's folder /proc/none: No such file or directory\n", 1])
    expect(File.exist?("#{tmpdir}/ran")).to be(false)
  end

  it "hands SIGTERM on" do
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "record", "-o", "#{tmpdir}/p.json.gz", program("long", "trap(:TERM) { exit 3 }; puts :on; $stdout.flush; busy 60")]
    read, write = IO.pipe
    pid = Process.spawn(CommandLine.silence.merge("TMPDIR" => tmpdir), *command, out: write, err: File::NULL)
    write.close
    expect(read.gets).to eq("on\n")
    Process.kill(:TERM, pid)
    expect(Process.wait2(pid).last.exitstatus).to eq(3)
  end

  it "refuses before the program runs what it cannot write afterwards" do
    ran = program("ran", "File.write('#{tmpdir}/ran', '')")
    expect(record(ran, output: "#{tmpdir}/none/p.json").to_a).to eq(["", "rperf-push: record: #{tmpdir}/none/p.json: No such file or directory\n", 1])
    expect(record(ran, output: tmpdir).to_a).to eq(["", "rperf-push: record: #{tmpdir}: is a directory\n", 1])
    expect(record("-m", "gpu", ran).to_a).to eq(["", "rperf-push: record: mode must be cpu, wall, alloc, heap, contention, custom or several as cpu,wall,alloc,heap,contention,custom, got gpu\n", 1])
    expect(record("-f", "0", ran).to_a).to eq(["", "rperf-push: record: frequency must be from 1 to 10000, got 0\n", 1])
    expect(record("--format", "xml", ran).to_a).to eq(["", "rperf-push: record: invalid argument: --format xml\n", 1])
    expect(record("--label", "x", ran).to_a).to eq(["", "rperf-push: record: a label must be KEY=VALUE, got x\n", 1])
    expect(File.exist?("#{tmpdir}/ran")).to be(false)
    expect(Dir.children(tmpdir)).not_to include("p.json.gz")
  end

  it "keeps the profile elsewhere when it can no longer be written where it was to go" do
    Dir.mkdir(gone = "#{tmpdir}/gone")
    ended = record(program("plain", "busy 0.1; Dir.rmdir('#{gone}'); exit 3"), output: "#{gone}/p.json")
    expect([ended.out, ended.status]).to eq(["", 1])
    kept = ended.err[%r{\Arperf-push: record: #{gone}/p\.json: No such file or directory; the profile is in (/\S+-p\.json)\n\z}, 1]
    expect(time_in(RperfPush.load(kept), "Object#busy")).to be > 0
    expect(File.stat(File.dirname(kept)).mode & 0o777).to eq(0o700)
  end

  it "counts processes that could write nothing but the beginning of a file" do
    %w[7-1.pb.gz 7.json .8-2 .9.json other].each { |name| File.write("#{tmpdir}/#{name}", "") }
    expect(RperfPush::SessionFolder.new(tmpdir).pids).to eq([7, 8, 9])
  end

  it "ends as a shell does for a command that is not there, or cannot be run" do
    File.write(path = "#{tmpdir}/data", "")
    expect(record("no-such-command").to_a).to eq(["", "rperf-push: record: no-such-command: command not found\n", 127])
    expect(record(path).to_a).to eq(["", "rperf-push: record: #{path}: Permission denied\n", 126])
    expect(rperf_push("record").to_a).to eq(["", "rperf-push: record needs a command\n", 1])
    expect(record("sh", "-c", "kill -9 $$").status).to eq(137)
  end

  it "says so when no Ruby program ran" do
    expect(record("true").to_a).to eq(["", "rperf-push: true: no Ruby program ran, nothing was recorded\n", 0])
  end

  it "writes a profile without samples where nothing came to be sampled" do
    %w[json.gz pb.gz].each do |ending|
      expect(record("-m", "heap", program("plain", ""), output: "#{tmpdir}/p.#{ending}").to_a).to eq(["", "", 0])
      data = RperfPush.load("#{tmpdir}/p.#{ending}")
      expect(data).to include(aggregated_samples: [], values: { inuse_space: [] }, units: { inuse_objects: "count", inuse_space: "bytes" })
      expect([rperf_push("report", "--text", "#{tmpdir}/p.#{ending}"), rperf_push("report", "--collapsed", "#{tmpdir}/p.#{ending}")].map(&:out))
        .to eq(["No samples recorded.\n", ""])
    end
  end

  it "says so when the program counted nothing of its own" do
    ran = program("plain", "exit 3")
    expect(record("-m", "custom", ran).to_a).to eq(["", "rperf-push: #{ran}: it counted nothing with RperfPush.sample, nothing was recorded\n", 3])
  end

  it "prints the text report instead, or beside the file what -v says" do
    ended = rperf_push("record", "-p", program("plain", "busy 0.1"), env: { "TMPDIR" => tmpdir })
    expect(ended.out).to match(/\ATotal: [\d.]+ms \(cpu\)\nSamples: \d+, Frequency: 1000Hz\n(?:Reached: .*\n)?(?:GC: .*\n)?\n Flat:\n/).and include("Object#busy (")
    expect(record("-v", program("plain", "busy 0.1")).err).to match(/\A\[RperfPush\] mode=cpu frequency=1000Hz\n\[RperfPush\] sampling: \d+ calls, /)
  end

  it "names a snapshot by commit and time, and puts labels into its meta" do
    ended = rperf_push("record", "--snapshot-dir", "#{tmpdir}/of/snapshots", "--label", "run=7", program("plain", "busy 0.1"),
                       env: { "TMPDIR" => tmpdir, "GITHUB_SHA" => "0123456789abcdef", "GITHUB_REF_NAME" => "main" })
    expect(ended.to_a).to eq(["", "", 0])
    name, = Dir.children("#{tmpdir}/of/snapshots")
    expect(name).to match(/\Arperf-push-0123456-\d{8}-\d{6}-\d+\.json\.gz\z/)
    head = RperfPush::JSONFile.head(Zlib.gunzip(File.binread("#{tmpdir}/of/snapshots/#{name}")))
    expect(head[:meta]).to include(git: { sha: "0123456789abcdef", branch: "main" }, labels: { run: "7" })
  end

  it "keeps every sample of every process apart with --no-aggregate, beside their sums" do
    parent = program("parent", "Process.wait(fork { busy 0.1 }); busy 0.2; sleep 0.1")
    expect(record("-m", "cpu,wall", "--no-aggregate", parent).to_a).to eq(["", "", 0])
    data = recorded
    raw, sums = %i[raw_samples aggregated_samples].map { |key| data[key] }
    of_each = ->(samples) { samples.group_by { |_, _, seq, set| [seq, set] }.transform_values { |group| group.sum { |sample| sample[1] } } }
    expect(raw.size).to be > sums.size
    expect(of_each.(raw)).to eq(of_each.(sums))
    expect(data[:raw_values][:wall].sum).to eq(data[:values][:wall].sum)
    expect(data[:raw_values][:wall].size).to eq(raw.size)
  end

  describe "--print-env" do
    # As a shell does that exports what is printed and goes on.
    def exported(*arguments)
      ended = rperf_push("record", *arguments, "--print-env", env: { "TMPDIR" => tmpdir })
      expect([ended.err, ended.status]).to eq(["", 0])
      script = "#{ended.out}\nexport TMPDIR=#{tmpdir}\n#{yield}"
      run_program(["bash", "-euc", script], env: CommandLine.silence, chdir: tmpdir)
    end

    def sessions = Dir.glob("#{tmpdir}/rperf-push-*/session-*")

    it "has the next Ruby program record itself and its children, and run as it would" do
      child = program("child", "busy 0.2")
      parent = program("parent", "busy 0.2; Process.wait(fork { busy 0.2 }); system('sh', '-c', 'ruby #{child}; true'); puts :out; exit 3")
      out, err, status = exported("-o", "#{tmpdir}/p.json.gz", "--label", "it's=a \"b\"") { "ruby #{parent}" }
      expect([out, err, status.exitstatus]).to eq(["out\n", "", 3])
      expect(recorded[:label_sets].map { |set| set[:"%pid"] }.uniq.size).to eq(3)
      expect(time_in(recorded, "Object#busy")).to be_about(0.6)
      expect(RperfPush.read_meta("#{tmpdir}/p.json.gz")[:meta][:labels]).to eq("it's": "a \"b\"")
      expect(sessions).to eq([])
    end

    it "leaves the session to the program that really is the root, however it comes to be" do
      a, b = %w[a b].map { |name| program(name, "busy 0.1") }
      first = program("first", "busy 0.1; exec 'ruby', '#{b}'")
      exported("--snapshot-dir", tmpdir) { "sh -c 'ruby #{a}; ruby #{first}; true'\nruby -I #{RubyProgram::LIB} #{CommandLine::EXECUTABLE} --version" }
      files = Dir.glob("#{tmpdir}/rperf-push-*.json.gz")
      expect(files.map { |file| RperfPush.load(file)[:aggregated_samples].flat_map(&:first).map(&:first).grep(/\w\.rb/).uniq.sort })
        .to contain_exactly([a_string_ending_with("a.rb")], include(a_string_ending_with("b.rb")))
      expect(sessions).to eq([])
    end

    it "leaves children alone when told so, and prints instead of writing" do
      parent = program("parent", "busy 0.2; Process.wait(fork { busy 0.4 }); system('ruby', '#{program("child", "busy 0.4")}')")
      out, = exported("--no-inherit", "-p") { "ruby #{parent}" }
      expect(out).to start_with("Total: ")
      expect(out[/ Cumulative:.*?([\d.]+) ms +[\d.]+%  Object#busy/m, 1].to_f / 1000).to be_about(0.2)
    end

    it "says what it cannot write, and ends as the program does" do
      Dir.mkdir(gone = "#{tmpdir}/gone")
      out, err, status = exported("-o", "#{gone}/p.json") { "rmdir #{gone}\nruby #{program("plain", "puts :out; exit 4")}" }
      expect([out, status.exitstatus]).to eq(["out\n", 4])
      expect(err).to match(%r{\A\[rperf-push\] #{gone}/p\.json: No such file or directory.*; the profile is lost\n\z})
      expect(sessions).to eq([])
    end

    it "refuses what it cannot do before anything is exported" do
      expect(rperf_push("record", "--print-env", "-o", "#{tmpdir}/none/p.json").to_a)
        .to eq(["", "rperf-push: record: #{tmpdir}/none/p.json: No such file or directory\n", 1])
      expect(rperf_push("record", "--print-env", "ruby").to_a).to eq(["", "rperf-push: record: --print-env runs no command, got ruby\n", 1])
    end
  end

  it "has what programs did before they became others by exec, in children as well, and goes on where exec failed" do
    second = program("second", "def second = busy(0.2); second")
    first = program("first", <<~RUBY)
      def first = busy(0.2)
      def child = busy(0.2)
      Process.wait(fork { child; exec("true") })
      first
      begin
        exec("no-such-program")
      rescue Errno::ENOENT
        first
      end
      exec("ruby", "#{second}")
    RUBY
    expect(record("-m", "cpu", first).to_a).to eq(["", "", 0])
    expect(%w[first child second].to_h { |name| [name, time_in(recorded, "Object##{name}")] })
      .to match("first" => be_about(0.4), "child" => be_about(0.2), "second" => be_about(0.2))
    said = rperf_push("stat", first, env: { "TMPDIR" => tmpdir }).err
    expect(said).not_to include("did not reach their end")
    expect(said[/([\d.,]+) ms +[\d.]+% +\[RperfPush\] CPU execution/, 1].to_f).to be_between(760, 1500)
  end

  it "lets a program configure continuous profiling as it would without" do
    code = "require 'rperf_push'; RperfPush.configure! { |c| c.directory = '#{tmpdir}/mine'; c.upload_interval = 3600 }; busy 0.2; p RperfPush.running?"
    expect(record(program("own", code)).out).to eq("true\n")
    expect(time_in(recorded, "Object#busy")).to be_about(0.2)
    expect(Dir.glob("#{tmpdir}/mine/*.pb.gz").size).to eq(1)
  end

  it "never meets what the program starts itself" do
    code = <<~RUBY
      require "rperf_push"
      sum = ->(data) { data[:aggregated_samples].sum { |_, weight| weight } / 1e9 }
      RperfPush.profile(part: "early") { busy 0.1 }
      before = RperfPush.running?
      own = RperfPush.start(frequency: 200) { busy 0.2 }
      RperfPush.start(mode: :wall, defer: true)
      second = begin; RperfPush.start; rescue RuntimeError => e; e.message; end
      RperfPush.profile(part: "inner") { busy 0.1 }
      busy 0.1
      part = RperfPush.snapshot(clear: true)
      puts [before, RperfPush.running?, second, own[:frequency], sum.(own).round(1), part[:label_sets].any? { |set| set[:part] == "inner" },
            RperfPush.stop[:mode], RperfPush.stop.inspect, RperfPush.running?].join(" ")
    RUBY
    ended = record(program("own", code))
    expect(ended.to_a).to eq(["false true profiling on demand is running already 200 0.2 true wall nil false\n", "", 0])
    expect(time_in(recorded, "Object#busy")).to be_within(0.09).of(0.5) # the shortest part is 0.1
    expect(recorded).to include(frequency: 1000, mode: :cpu)
    parts = recorded[:label_sets].filter_map { |set| set[:part] }.uniq
    expect(parts).to contain_exactly("early", "inner")
  end

  it "removes the folders of sessions whose root is dead, and no other" do
    base = "#{tmpdir}/rperf-push-#{Process.uid}"
    dead = Process.spawn("true").tap { |pid| Process.wait(pid) }
    FileUtils.mkdir_p(["#{base}/session-#{dead}-aa", "#{base}/session-#{Process.pid}-bb"])
    File.chmod(0o700, base)
    record(program("plain", "busy 0.05"))
    expect(Dir.children(base)).to eq(["session-#{Process.pid}-bb"])
  end

  describe "stat and exec" do
    it "say on standard error what the time went to" do
      ended = rperf_push("stat", program("mixed", "busy 0.2; sleep 0.3; puts :out"), env: { "TMPDIR" => tmpdir })
      expect([ended.out, ended.status]).to eq(["out\n", 0])
      rows = ended.err.scan(/^ +([\d.,]+) (\S*) +(?:([\d.]+%)  )?(?:\[\w+ *\] )?(.*)$/)
      expect(ended.err).to start_with(" Performance stats for '#{tmpdir}/mixed.rb':\n")
      expect(rows.map(&:last)).to include("user", "sys", "real", "CPU execution", "GVL blocked (I/O, sleep)", "allocated objects",
                                          "peak memory (maxrss)", a_string_matching(/context switches \([\d,]+ voluntary/))
      blocked = ended.err[/([\d.,]+) ms +[\d.]+%  \[RperfPush\] GVL blocked/, 1].delete(",").to_f
      expect(blocked).to be_between(290, ended.err[/([\d.,]+) ms +real/, 1].delete(",").to_f)
      expect(ended.err).to match(/^  [\d,]+ samples.*profiler overhead$/)
      expect(ended.err).not_to include("Ruby processes profiled")
    end

    it "count processes, print tables when asked, and save on wish" do
      parent = program("parent", "Process.wait(fork { busy 0.1 }); busy 0.1")
      ended = rperf_push("exec", "-o", "#{tmpdir}/p.json.gz", parent, env: { "TMPDIR" => tmpdir })
      expect(ended.err).to include("2    [RperfPush] Ruby processes profiled".squeeze(" ")).or match(/2 +\S* *\[RperfPush\] Ruby processes profiled/)
      expect(ended.err).to include("\n Flat:\n", "\n Cumulative:\n")
      expect(recorded[:mode]).to eq(:wall)
      expect(rperf_push("stat", "--report", parent, env: { "TMPDIR" => tmpdir }).err).to include("\n Flat:\n")
      expect(rperf_push("stat", parent, env: { "TMPDIR" => tmpdir }).err).not_to include("Flat:")
    end

    it "say which share of the instructions YJIT ran, where Ruby counts them, and that it is on, where not" do
      skip "no YJIT here" unless defined?(RubyVM::YJIT)
      loop_long = "def more(i) = i + 1; i = 0; i = more(i) while i < 3_000_000" # YJIT compiles methods that are called often
      said = ->(*options) { rperf_push("stat", "ruby", *options, "-e", loop_long, env: { "TMPDIR" => tmpdir, "RUBYOPT" => nil, "RUBY_YJIT_ENABLE" => nil }).err }
      counted = said.call("--yjit", "--yjit-stats=quiet")
      if RUBY_VERSION < "4"
        expect(counted[/([\d.]+)% +\[Ruby +\] in code of YJIT/, 1].to_f).to be_between(0.1, 100)
        expect(said.call("--yjit")).to match(/YJIT; its ratio needs ruby --yjit-stats=quiet$/)
      else # only a Ruby that was built for it counts them
        expect(counted).to match(/in code of YJIT$|YJIT; its ratio needs ruby --yjit-stats=quiet of a build with --enable-yjit=stats$/)
      end
      expect(said.call).not_to include("YJIT;", "code of YJIT")
    end

    it "end as the command does" do
      expect(rperf_push("stat", "ruby", "-e", "exit 5").status).to eq(5)
      expect(rperf_push("exec", "no-such-command").to_a).to eq(["", "rperf-push: exec: no-such-command: command not found\n", 127])
      expect(rperf_push("stat", "true").err).to include("no Ruby program ran: nothing was sampled")
    end
  end
end
