# frozen_string_literal: true

require "pty"
require "rperf_push"
require "rperf_push/remote/control_client"
require "rperf_push/remote/live_calls"
require_relative "support/held_port"
require_relative "support/listening_process"

# Looking into processes from outside: ps, stacks and attach, with real ones.
RSpec.describe "the control socket", :interpreted, :waiting do
  include Attaching
  include CommandLine

  let(:sockets) { "#{tmpdir}/sockets" }

  after { @programs&.each(&:stop) }

  def listening(code, profiled: false, env: {})
    program = ListeningProcess.new(sockets, code, profiles: ("#{tmpdir}/profiles" if profiled), env:)
    (@programs ||= []) << program
    program
  end

  def command(*arguments) = rperf_push(*arguments, env: { "RPERF_PUSH_CONTROL_SOCKET" => sockets })

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def stacks(program) = client_of(program).ask("stacks")
  def client_of(program) = RperfPush::ControlClient.new(socket_of(program))

  def thread_at(document, method) = document["threads"].find { |one| one["stack"].any? { |name, _| name == method } }
  def socket_of(program) = "#{sockets}/#{program.pid}.sock"

  WORK = <<~RUBY
    class Shop
      def search(query)
        1000.times { query.hash }
      end
      def wait = sleep
      def queue = Queue.new.pop
    end
  RUBY

  BUSY = <<~RUBY.freeze
    #{WORK}
    Thread.new { Shop.new.wait }
    Thread.new { Shop.new.queue }
    Thread.pass until Thread.list.count(&:stop?) == 2
    puts "ready"
    loop { Shop.new.search("a") }
  RUBY

  describe "stacks" do
    [false, true].each do |profiled|
      it "says where every thread is, #{profiled ? "beside the continuous session" : "of a program that only loads rperf_push/control"}" do
        program = listening(BUSY, profiled:)
        document = wait_until("it to be in search") { stacks(program).then { |one| one if thread_at(one, "Shop#search") } }
        expect(document).to include("complete" => true)
        search, wait, queue = %w[Shop#search Shop#wait Shop#queue].map { |method| thread_at(document, method) }
        expect(document["threads"].size).to eq(3)
        expect([wait, queue].map { |one| one["state"] }).to eq(%w[blocked blocked])
        expect(search["state"]).to eq("running").or eq("waiting")
        expect(wait["stack"].first.first).to eq("Kernel#sleep")
        expect(wait["stack"].map { |_, path, line| line if path.end_with?(".rb") }).to include(7)
      end
    end

    it "says under which labels a thread works, and for how long it has waited" do
      program = listening(<<~RUBY, profiled: true)
        #{WORK}
        Thread.new { RperfPush.label(endpoint: "GET /search") { Shop.new.wait } }
        Thread.pass until Thread.list.any?(&:stop?)
        puts "ready"
        loop { Shop.new.search("a") }
      RUBY
      first = thread_at(stacks(program), "Shop#wait")
      second = wait_until("a longer wait") do
        later = thread_at(stacks(program), "Shop#wait")
        later if later["for_ns"].to_i > first["for_ns"].to_i + 1_000_000
      end
      expect([first, second].map { |one| one["labels"] }).to all(eq("endpoint" => "GET /search"))
    end

    it "prints it for people, and as JSON" do
      program = listening(BUSY)
      document = JSON.parse(command("stacks", "--json", program.pid.to_s).out)
      expect(document).to include("pid" => program.pid, "threads" => have_attributes(size: 3))
      expect(command("stacks", program.pid.to_s).out)
        .to match(/^process #{program.pid}, 3 threads/).and match(/^thread \d+ .*: blocked\n {4}Kernel#sleep\n {4}Shop#wait .*program.*\.rb:7$/)
    end

    it "names the thread that keeps the GVL in a long C call, with its last stack and its CPU use" do
      program = listening(<<~'RUBY', profiled: true)
        def hash_for_years(rounds) = "x".crypt("$6$rounds=#{rounds}$abcdefgh")
        # Frames get their names at safepoints: all of them have one when a session shows them.
        stacks = -> { RperfPush.start(frequency: 250) { hash_for_years(200_000) }[:aggregated_samples].map { |frames,| frames.map(&:last) } }
        nil until stacks.call.any? { |stack| stack.first == "String#crypt" && stack.include?("Object#hash_for_years") }
        puts "ready"
        hash_for_years(999_999_999)
      RUBY
      document = wait_until("its sample") { stacks(program).then { |one| one if !one["complete"] && thread_at(one, "Object#hash_for_years") } }
      thread = thread_at(document, "Object#hash_for_years")
      expect(document["why"]).to start_with("thread #{thread["tid"]} keeps the GVL and came to no safepoint")
      expect(thread).to include("holds_gvl" => true, "state" => "running")
      expect(thread["stack"].first.first).to eq("String#crypt")
      expect(thread["stack_age_ns"]).to be_positive
      expect(thread["cpu_permille"]).to be_positive
    end

    it "says of frames without a name why they have none" do
      program = listening(<<~'RUBY', profiled: true)
        def work = 100_000.times { "x".hash }
        nil until RperfPush.start(frequency: 250) { work }[:aggregated_samples].any? { |frames,| frames.last.last == "<main>" }
        puts "ready"
        "x".crypt("$6$rounds=999999999$abcdefgh")
      RUBY
      document = wait_until("its sample") { stacks(program).then { |one| one if thread_at(one, "[not named yet]") } }
      expect(document["why"]).to end_with("what was first captured after the last safepoint has no name before the next")
      expect(thread_at(document, "[not named yet]")["stack"].map(&:first).values_at(0, -1)).to eq(["[not named yet]", "<main>"])
    end

    it "says what the kernel knows of threads where no safepoint comes and nothing is sampled" do
      program = listening(<<~RUBY)
        #{WORK}
        Thread.new { Shop.new.wait }.name = "waiter"
        Thread.pass until Thread.list.any?(&:stop?)
        puts "ready"
        gets
        "x".crypt("$6$rounds=999999999$abcdefgh")
      RUBY
      document = wait_until("all to sleep") { stacks(program).then { |one| one unless one["complete"] } }
      expect(document).to include("complete" => false, "why" => match(/no thread came to a safepoint .* only the kernel knows of its threads/))
      waiter = document["threads"].find { |one| one["name"] == "waiter" }
      expect(waiter).to include("state" => "asleep", "cpu_permille" => 0, "holds_gvl" => false, "stack" => [])
      expect(document["threads"].map { |one| one["name"] }.grep(/rpp-/)).to eq([])
      program.say("go")
      busy = wait_until("the long call") do
        stacks(program)["threads"].find { |one| one["tid"] == program.pid && one["state"] == "awake" && one["cpu_permille"] > 10 }
      end
      expect(busy["stack"]).to eq([])
    end

    it "says of each thread where it was last, and since when it is blocked, while all sleep" do
      program = listening(<<~RUBY, profiled: true, env: { "RPERF_PUSH_UPLOAD_INTERVAL" => "1" })
        #{WORK}
        def snooze(seconds) = sleep(seconds)
        Thread.new { 40.times { snooze(0.05) }; snooze(600) }
        sleep 0.1 until RperfPush.stats[:windows_closed] > 1
        puts "ready"
        gets
      RUBY
      document = wait_until("all to sleep for long") do # it sleeps before
        stacks(program).then { |one| one if !one["complete"] && one["threads"].all? { |thread| thread["for_ns"].to_i > 1_000_000_000 } }
      end
      expect(document["why"]).to match(/no thread ran within \d+ ms: all are blocked/)
      snoozes = thread_at(document, "Object#snooze")
      expect(snoozes).to include("state" => "blocked", "for_ns" => be_positive, "stack_age_ns" => be_positive)
      expect(command("stacks", program.pid.to_s).out).to match(/: blocked for .*, stack of .* ago\n {4}Kernel#sleep\n {4}Object#snooze/)
    end

    it "calls nothing that the program has made of Ruby's methods" do
      program = listening(<<~RUBY)
        #{WORK}
        Thread.new { Shop.new.wait }
        Thread.pass until Thread.list.any?(&:stop?)
        $called = []
        Thread.define_singleton_method(:list) { $called << :list; [] }
        Thread.define_method(:status) { $called << :status; "run" }
        Thread.define_method(:native_thread_id) { $called << :native_thread_id; 1 }
        UnboundMethod.define_method(:bind_call) { |*| $called << :bind_call }
        Thread.new { $stdin.gets; p $called; $stdout.flush }
        puts "ready"
        loop { Shop.new.search("a") }
      RUBY
      document = stacks(program)
      expect(document["threads"].size).to eq(3)
      expect(thread_at(document, "Shop#wait")["state"]).to eq("blocked")
      client_of(program).connect("record") { |stream| expect(stream.read(timeout: 60).first).to eq(:document) } # adopts all threads
      program.say("what was called?")
      expect(program.line).to eq("[]")
    end

    it "interrupts nobody" do
      program = listening(<<~RUBY)
        reader, writer = IO.pipe
        Thread.new { $stdin.gets; puts $interrupted.inspect; writer.close }
        begin
          puts "ready"
          reader.read
        rescue Interrupt, SystemCallError
          $interrupted = true
        end
      RUBY
      8.times { stacks(program) }
      program.say("well?")
      expect(program.line).to eq("nil")
    end
  end

  describe "ps" do
    it "lists what is profiled, and what may be looked into" do
      profiled = listening(BUSY, profiled: true, env: { "RPERF_PUSH_APPLICATION_NAME" => "shop" })
      plain = listening(BUSY)
      rows = command("ps").out.lines.map(&:split)
      expect(rows.first.first(3)).to eq(%w[PID APPLICATION RUBY])
      expect(rows.drop(1).map { |row| row.first(2) }).to contain_exactly([profiled.pid.to_s, "shop"], [plain.pid.to_s, "-"])
      documents = JSON.parse(command("ps", "--json").out)
      expect(documents.find { |one| one["pid"] == profiled.pid }).to include("application" => "shop", "threads_known" => 3)
    end

    it "shows the titles that processes have given themselves" do
      title = "puma: cluster worker 1: 4711 [shop]"
      program = listening("Process.setproctitle('#{title}')\n#{BUSY}")
      plain = listening(BUSY)
      shown = command("ps").out.lines
      expect(shown.first).to match(/ TITLE +ERROR$/)
      expect(shown.grep(/\A#{program.pid} /)).to contain_exactly(include(" #{title} "))
      expect(shown.grep(/\A#{plain.pid} /)).to contain_exactly(include(" #{RbConfig.ruby} -I "[0, 60]))
    end

    it "passes over what dead processes have left" do
      program = listening(BUSY)
      program.stop
      expect(File.socket?(socket_of(program))).to be(true)
      expect(command("ps").out).to start_with("no process of this user listens")
      expect(command("stacks", program.pid.to_s).to_a).to eq(["", "rperf-push: stacks: no process #{program.pid} listens: is it profiled, and of this user?\n", 1])
      living = listening(BUSY)
      expect(Dir.children(sockets)).to eq(["#{living.pid}.sock"])
    end
  end

  describe "attach" do
    def report(path, *options) = rperf_push("report", "--collapsed", *options, path).out

    [false, true].each do |profiled|
      it "records #{profiled ? "beside the continuous session" : "in a program that only loads rperf_push/control"}" do
        program = listening(BUSY, profiled:)
        wait_until("a second in which it had its turn") do
          ended = command("attach", program.pid.to_s, "--seconds", "1", "-f", "500", "-o", "#{tmpdir}/out.pb.gz")
          expect(ended.to_a).to eq(["", "rperf-push: wrote #{tmpdir}/out.pb.gz\n", 0])
          report("#{tmpdir}/out.pb.gz").include?("Shop#search")
        end
        expect(report("#{tmpdir}/out.pb.gz", "--value", "wall")).to include("Thread::Queue#pop")
        # What comes after it is as it was.
        expect(stacks(program)["complete"]).to be(true)
        expect(command("attach", program.pid.to_s, "--seconds", "0.2", "-o", "#{tmpdir}/again.json").status).to eq(0)
      end
    end

    # @return [ControlClient::Stream] of a session that has begun; the block holds it open
    def recording(program, **arguments)
      client_of(program).connect("record", **arguments) do |stream|
        expect(stream.read(timeout: 60).first).to eq(:document)
        yield stream
      end
    end

    it "goes beside others that are attached, top and live, four at a time" do
      program = listening(BUSY)
      recording(program, interval_ms: 500) do |live| # which is not read meanwhile: what waits in its socket must not fill it
        recording(program, mode: "cpu") do |top|
          wait_until("a second in which it had its turn") do
            both = %w[one two].map { |name| Thread.new { command("attach", program.pid.to_s, "--seconds", "1", "-o", "#{tmpdir}/#{name}.json") } }
            expect(both.map { |one| one.value.err }).to eq(%w[one two].map { |name| "rperf-push: wrote #{tmpdir}/#{name}.json\n" })
            %w[one two].all? { |name| report("#{tmpdir}/#{name}.json").include?("Shop#search") }
          end
          expect([live, top].map { |stream| stream.read(timeout: 60).first }).to eq(%i[profile profile])
          recording(program) { recording(program) { expect(command("attach", program.pid.to_s).to_a).to eq(["", "rperf-push: attach: 4 sessions from outside run already: end one of top, live or attach\n", 1]) } }
        end
      end
      expect(stacks(program)["complete"]).to be(true)
    end

    it "does not name a method again and again that is seen now and then, however short the windows are" do
      program = listening(<<~RUBY)
        #{WORK}
        def rare0 = 200.times { Shop.new.search("rare") }
        20.times { |i| eval("def rare\#{i + 1} = rare\#{i}") }
        Thread.new { loop { rare20; sleep 0.7 } }
        puts "ready"
        loop { Shop.new.search("a") }
      RUBY
      counts = -> { client_of(program).ask("ps").values_at("windows_closed", "frames_dropped") }
      clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
      recording(program, interval_ms: 50, frequency: 999) do
        dropped = wait_until("24 windows within three seconds") do
          began, (windows, before) = clock.call, counts.call
          sleep 2
          after = counts.call
          after.last - before if clock.call - began < 2.5 && after.first - windows >= 24
        end
        expect(dropped).to be < 10
      end
    end

    it "ends when whoever attached goes" do
      program = listening(BUSY)
      client = client_of(program)
      client.connect("record") { |stream| expect(stream.read.first).to eq(:document) }
      wait_for_another_session(client)
    end

    # A job of theirs takes all others along that wait just then. Once the peer has gone, nobody asks again for what it leaves.
    it "ends so beside other Ractors, too, which come to its jobs" do
      program = listening(<<~RUBY)
        $VERBOSE = nil
        Array.new(2) { Ractor.new { loop { 5.times { File.open("/dev/null") }; GC.start(full_mark: rand(10).zero?) } } }
        puts "ready"
        loop { sleep 0.001 }
      RUBY
      client = client_of(program)
      20.times do
        client.connect("record") { |stream| expect(stream.read(timeout: 60).first).to eq(:document) }
        wait_until("its end") { client.ask("ps")["engine"].nil? }
      end
    end

    it "keeps what was recorded until the process ended" do
      program = listening(<<~RUBY)
        #{WORK}
        Thread.new { $stdin.gets; exit!(0) }
        puts "ready"
        loop { Shop.new.search("a") }
      RUBY
      attached = Thread.new { command("attach", program.pid.to_s, "-o", "#{tmpdir}/out.json") }
      wait_until("some windows") { client_of(program).ask("ps")["windows_closed"] >= 3 }
      program.say("end")
      expect(attached.value.err).to end_with("this is what it recorded until then\nrperf-push: wrote #{tmpdir}/out.json\n")
      expect(report("#{tmpdir}/out.json")).to include("Shop#search")
    end

    it "traces every call of a running process, and leaves nothing behind" do
      program = listening(BUSY)
      stream_of = ->(ended) { [ended.out, ended.err, ended.status] }
      path = "#{tmpdir}/calls.json"
      2.times { expect(stream_of[command("attach", program.pid.to_s, "--trace", "--seconds", "0.5", "-o", path)]).to eq(["", "rperf-push: wrote #{path}\n", 0]) }
      tree = RperfPush.load(path)[:tree]
      search, hashes = tree.find("Shop#search").first, tree.find("String#hash").first
      # The first one may have been under way, and the last one may be.
      expect(hashes.called).to be_between((search.called - 1) * 1000, (search.called + 1) * 1000)
      expect(search.called).to be > 1
      expect(tree.duration_ns).to be > 500_000_000
      expect(tree.losses).to eq([])
      waiting = tree.find("Shop#wait").first
      expect([waiting.called, waiting.total]).to match([0, be_between(500_000_000, tree.duration_ns)])
      wait_until("the tracing thread to end") { stacks(program).then { |now| now["threads"].size == 3 && thread_at(now, "Shop#search") } }
      %w[callgrind.out.a a.pb.gz].each { |name| expect(command("attach", program.pid.to_s, "--trace", "-s", "0.1", "-o", "#{tmpdir}/#{name}").status).to eq(0) }
      expect(File.read("#{tmpdir}/callgrind.out.a")).to include("Shop#search")
      expect(report("#{tmpdir}/a.pb.gz", "--value", "calls")).to include("String#hash")
    end

    it "traces the methods that are asked for" do
      program = listening(BUSY)
      path = "#{tmpdir}/calls.json"
      traced = lambda do |*options|
        ended = command("attach", program.pid.to_s, "--trace", "-m", "wall", "--seconds", "0.3", "-o", path, *options)
        expect([ended.err, ended.status]).to eq(["rperf-push: wrote #{path}\n", 0])
        RperfPush.load(path)[:tree].methods.map(&:label)
      end
      expect(traced.call("--only", "Shop#search", "--only", "String#hash")).to contain_exactly("Shop#search", "String#hash")
      expect(traced.call("--except", "String#hash", "--except", "Käse %25")).to include("Shop#search").and(satisfy { |labels| !labels.include?("String#hash") })
      expect(command("attach", program.pid.to_s, "--trace", *%w[a b c d e f].flat_map { |one| ["--only", one] }).err).to include("takes 5 patterns")
      expect(command("attach", program.pid.to_s, "--trace", "--only", "ä" * 60).err).to include("a pattern of methods is empty, or too long")
    end

    it "prints a report of a trace where no file is named, as trace does" do
      program = listening(BUSY)
      printed = ->(*options) { command("attach", program.pid.to_s, "--trace", "--seconds", "0.3", *options) }
      flat, tree = printed.call("--limit", "20"), printed.call("--report", "tree")
      expect([flat.err, flat.status, tree.err, tree.status]).to eq(["", 0, "", 0])
      expect(flat.out).to match(/^.* String#hash/)
      expect(tree.out).to match(/^.* Shop#search/)
      expect(Dir.glob("rperf-push.json.gz")).to eq([])
    end

    it "pauses and resumes a trace by a key" do
      program = listening(BUSY)
      expect { client_of(program).ask("pause") }.to raise_error(RperfPush::ControlClient::Refused, "no calls are traced from outside")
      path = "#{tmpdir}/calls.json"
      env = { **CommandLine.silence, "RPERF_PUSH_CONTROL_SOCKET" => sockets }
      began = now
      PTY.spawn(env, RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, *%W[attach #{program.pid} --trace --seconds 600 -o #{path}]) do |output, input, pid|
        said = +""
        hears = ->(text) { wait_until(text) { (said << (output.read_nonblock(4096, exception: false) || "").to_s).include?(text) } }
        { nil => "p pauses and goes on", "p" => "paused: p goes on" }.each { |key, answer| input.write(key.to_s).then { hears.call(answer) } }
        sleep 3
        input.write("p")
        hears.call("rperf-push: goes on")
        input.write("\x03")
        hears.call("wrote #{path}")
        Process.wait(pid)
      end
      expect(RperfPush.load(path)[:tree].duration_ns / 1e9).to be < now - began - 2.5
    end

    it "traces for one at a time, and ends where the peer goes" do
      program = listening(BUSY)
      client = client_of(program)
      refused = ->(**arguments) { client.connect("trace", **arguments) { |stream| stream.read(timeout: 60) } && nil rescue $!.message }
      client.connect("trace") do |stream|
        expect(stream.read(timeout: 60)).to eq([:document, { "tracing" => true }])
        expect(refused.call).to eq("calls are traced from outside already")
      end
      expect(wait_until("the other to have let go") { client.connect("trace") { |stream| stream.read(timeout: 60) } rescue nil }.first).to eq(:document)
      expect(refused.call(max_nodes: 0)).to match(/\Acalls are|\Atrace takes mode=MODE,\.\.\. max_nodes=1\.\.200000 c_methods=0\|1 blocks=0\|1 only=PATTERN except=PATTERN interval_ms=50\.\.5000\z/)
      wait_until("the thread to end") { stacks(program)["threads"].size == 3 }
      expect(refused.call(max_nodes: 0)).to start_with("trace takes mode=MODE,... max_nodes=1..200000")
    end

    it "traces what is created, and CPU time" do
      program = listening(<<~RUBY)
        class Baker
          def bake = Array.new(10) { Object.new }
          def pause = sleep(0.001)
          def work = loop { bake; pause }
        end
        Thread.new { Baker.new.work }
        puts "ready"
        sleep
      RUBY
      path = "#{tmpdir}/calls.json"
      traced = lambda do |mode|
        ended = command("attach", program.pid.to_s, "--trace", "--mode", mode, "--seconds", "0.5", "-o", path)
        expect([ended.err, ended.status]).to eq(["rperf-push: wrote #{path}\n", 0])
        RperfPush.load(path)
      end
      data = traced.call("wall,object")
      bake = data[:tree].find("Baker#bake").first
      objects = data[:tree].allocated.find { |one| one.class_name == "Object" }
      expect(objects.line).to eq(4)
      expect(objects.objects).to be_between((bake.called - 1) * 10, (bake.called + 1) * 10)
      expect(bake.called).to be > 10
      expect(data).to include(mode: %i[wall alloc])
      expect(report(path, "--value", "alloc_objects")).to include("Baker#bake")
      data = traced.call("cpu,wall")
      expect(data).to include(mode: %i[cpu wall])
      expect(data[:tree].find("Baker#bake").first.call_trees.sum(&:cpu)).to be_between(1, data[:duration_ns])
      expect(command("attach", program.pid.to_s, "--trace", "-m", "heap", "-o", path).err)
        .to eq("rperf-push: attach: --trace: mode must be :wall, :cpu, :alloc or several, got [:heap]\n")
      expect { client_of(program).connect("trace", mode: "heap") { |stream| stream.read(timeout: 60) } }
        .to raise_error(RperfPush::ControlClient::Refused, "mode must be :wall, :cpu, :alloc or several, got [:heap]")
    end

    it "discards a trace that has not begun when the peer goes, also where no safepoint comes" do
      client = client_of(program = listening("puts 'ready'\nsleep"))
      wait_until("it to sleep") { !stacks(program)["complete"] }
      refusal = ->(**arguments) { client.connect("trace", **arguments) { |stream| stream.read(timeout: 0.2) } && nil rescue $!.message }
      client.connect("trace") { wait_until("it to be noticed") { refusal.call(max_nodes: 0)&.start_with?("calls are") } }
      wait_until("it to be forgotten") { refusal.call(max_nodes: 0)&.start_with?("trace takes") }
    end

    it "ends a trace whose code is gone, or whose thread is killed" do
      program = listening(<<~RUBY)
        there = RperfPush::Native.send(:remove_const, :LIB_DIR)
        RperfPush::Native::LIB_DIR = "/gone"
        Thread.new do
          $stdin.gets
          RperfPush::Native.send(:remove_const, :LIB_DIR)
          RperfPush::Native::LIB_DIR = there
          puts "there"
          loop { Thread.list.each { |thread| thread.kill if thread.name == "rperf-push trace" } && sleep(0.001) }
        end
        puts "ready"
        loop { sleep 0.001 }
      RUBY
      ends = -> { client_of(program).connect("trace") { |stream| nil until stream.read(timeout: 60).first == :nothing } }
      expect(&ends).to raise_error(RperfPush::ControlClient::Refused, %r{-- /gone/rperf_push/remote/peer_trace})
      program.say("bring it back")
      expect(program.line).to eq("there")
      expect(&ends).to raise_error(RperfPush::ControlClient::Refused, /the process has gone, or/)
    end

    it "leaves nothing on where the thread is killed as it begins" do
      program = listening(<<~RUBY)
        require "rperf_push/calls/call_trace"
        RperfPush::CallTrace.prepend(Module.new { def resume = super.tap { Thread.current.kill unless Thread.current == Thread.main } })
        told = Thread.new { $stdin.gets }
        puts "ready"
        sleep 0.001 while told.alive?
        puts RperfPush.trace { :nothing }.key?(:tree) rescue puts $!.message
      RUBY
      trace = -> { client_of(program).connect("trace") { |stream| nil until stream.read(timeout: 60).first == :nothing } }
      expect(&trace).to raise_error(RperfPush::ControlClient::Refused, /the process has gone, or/)
      program.say("trace it yourself")
      expect(program.line).to eq("true")
    end

    # Calls as often as it is told to, and begins and ends threads, fibers and processes meanwhile.
    TILL = <<~RUBY
      class Till
        def scan(n) = n.times { beep }
        def beep = nil
        def rest = sleep
        def fiber = Fiber.new { beep; Fiber.yield; beep }.resume
        def child = Process.wait(fork { scan(10); exit!(0) })
        def thread = Thread.new { beep }.join
        %w[a b c d e f g h].each { |name| define_method(name) { |n| n.zero? ? beep : public_send(%w[a b c d e f g h].sample, n - 1) } }
        def wander = 3000.times { a(6) }
      end
      till = Till.new
      Thread.new { Thread.current.name = "resting"; till.rest }
      Thread.new { loop { sleep 0.01 } } # comes to safepoints
      sleep 0.01 until Thread.list[1].stop?
      puts "ready"
      while (order = gets)
        name, *numbers = order.split
        till.public_send(name, *numbers.map(&:to_i))
        puts "done"
      end
    RUBY

    def told(program, order) = program.say(order).then { expect(program.line).to eq("done") }

    # What updates say, added up: [parent, method] and the numbers of each node.
    def added_up(updates)
      nodes = updates.flat_map { |one| one["nodes"] }.each_slice(2).to_a
      columns = RperfPush::LiveCalls::COLUMNS.size
      updates.flat_map { |one| one["changes"] }.each_slice(columns).with_object(nodes.map { |node| [node, [0] * (columns - 1)] }) do |(node, *by), all|
        all[node][1] = all[node][1].zip(by).map(&:sum)
      end
    end

    def node_by_node(tree)
      tree["columns"]["parents"].zip(tree["columns"]["methods"]).each_with_index.map do |(parent, method), id|
        [[parent || -1, method], %w[calls self wait blocked waiting gc_marking gc_sweeping suspended].map { |name| tree["columns"][name][id] }]
      end
    end

    def take_document(stream)
      wait_until("a document") { stream.read(timeout: 10).then { |kind, content| content if kind == :document } }
    end

    it "says again and again what is new in a trace, which together is the tree that it gives at the end" do
      program = listening(TILL)
      everything = { max_nodes: 50_000, c_methods: 1, blocks: 1, only: [], except: %w[Integer#+ A B#b c d], interval_ms: 50 }
      client_of(program).connect("trace", **everything) do |stream|
        expect(take_document(stream)).to eq("tracing" => true)
        updates = [take_document(stream)]
        resting = updates.first["threads"].index(["resting", false, false])
        expect(updates.first["at"]).to include([resting, anything, "blocked"])
        ["scan 700", "fiber", "thread", "child", "wander", "scan 300"].each { |order| told(program, order).then { updates << take_document(stream) } }
        stream.finish
        updates << (document = take_document(stream)) until document&.key?("facts")
        tree = updates.pop
        expect(added_up(updates)).to eq(node_by_node(tree))
        expect(updates.last).to include("at" => [], "traced" => tree["facts"]["duration_ns"], "overhead" => tree["columns"]["overhead"])
        labels = updates.flat_map { |one| one["methods"] }.to_h { |id, label| [id, label] }
        calls = ->(label) { added_up(updates).sum { |(_, method), (called)| labels[method] == label ? called : 0 } }
        expect(calls["Till#beep"]).to eq(700 + 1 + 1 + 3000 + 300) # what the child did is not in it
        expect(tree["facts"]["roots"].map(&:first)).to include("main", "resting", "rperf-push trace")
        mine = tree["facts"]["roots"].map(&:first).index("rperf-push trace")
        root = tree["columns"]["parents"].zip(tree["columns"]["methods"]).index([nil, mine])
        expect(tree["columns"]["parents"]).not_to include(root) # it calls nothing that is seen
      end
    end

    it "tells a slow peer less often, and nothing less" do
      program = listening(TILL)
      client_of(program).connect("trace", interval_ms: 50) do |stream|
        expect(take_document(stream)).to eq("tracing" => true)
        6.times { told(program, "wander") } # more than a socket takes
        sleep 1
        stream.finish
        documents = []
        documents << take_document(stream) until documents.last&.key?("facts")
        *updates, tree = documents
        expect(added_up(updates)).to eq(node_by_node(tree))
        expect(tree["columns"]["parents"].size).to be > 10_000
        expect(updates.map { |one| one["traced"] }.each_cons(2).map { |before, after| after - before }.max).to be > 1_000_000_000
      end
    end

    it "does not trace for a peer what the program traces itself, and says so" do
      program = listening("Thread.new { loop { sleep 0.01 } }\nRperfPush.trace { puts 'ready'; gets }\nputs 'over'\nsleep")
      asked = -> { client_of(program).connect("trace", interval_ms: 50) { |stream| take_document(stream) } rescue $!.message }
      wait_until("its trace") { asked.call == "calls are traced already" }
      program.say("end")
      expect(program.line).to eq("over")
      expect(wait_until("ours") { asked.call.then { |said| said if said.is_a?(Hash) } }).to eq("tracing" => true)
    end

    it "goes beside the program's own session on demand" do
      program = listening(<<~RUBY)
        #{WORK}
        Thread.new { $stdin.gets; RperfPush.start(mode: :wall); puts "started"; $stdin.gets; p RperfPush.stop[:aggregated_samples].any? }
        puts "ready"
        loop { Shop.new.search("a") }
      RUBY
      client_of(program).connect("record") do |stream|
        expect(stream.read.first).to eq(:document)
        program.say("start")
        expect(program.line).to eq("started")
        3.times { expect(wait_until("a window") { stream.read.then { |kind,| kind unless kind == :nothing } }).to eq(:profile) }
        program.say("stop")
        expect(program.line).to eq("true")
        stream.finish
        expect(stream.each.map(&:first).uniq - [:nothing]).to eq([:profile]).or eq([])
      end
    end

    it "says what it does not understand before anything begins" do
      expect(command("attach").err).to eq("rperf-push: attach needs the pid of a process; rperf-push ps lists them\n")
      expect(command("attach", "1x").err).to eq("rperf-push: attach: \"1x\" is no pid\n")
      expect(command("attach", "-m", "gpu", "1").err).to eq("rperf-push: attach: mode must be cpu, wall, alloc, heap, contention, custom or several as cpu,wall,alloc,heap,contention,custom, got gpu\n")
      { "--only" => "A", "--except" => "A", "--report" => "flat", "--limit" => "3", "--max-nodes" => "9", "--blocks" => nil, "--no-c-methods" => nil }
        .each { |given| expect(command("attach", *given.compact, "1").err).to eq("rperf-push: attach: #{given.first} needs --trace\n") }
      expect(command("attach", "--seconds", "0", "1").err).to eq("rperf-push: attach: seconds must be a number above 0, got 0\n")
    end
  end

  describe "its life" do
    it "sleeps while nobody is connected, before a visit and after it" do
      program = listening(BUSY)
      task = wait_until("its thread") { Dir["/proc/#{program.pid}/task/*"].find { |path| File.read("#{path}/comm") == "rpp-control\n" } }
      switches = -> { File.read("#{task}/status")[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i }
      asleep = -> { File.read("#{task}/stat")[/\) (\w)/, 1] == "S" }
      2.times do
        wait_until("half a second of sleep") do
          before = switches.call
          sleep 0.5
          asleep.call && switches.call == before
        end
        client_of(program).ask("ps")
        wait_until("the peer's end") { Dir["/proc/#{program.pid}/fd/*"].count { |fd| File.readlink(fd).start_with?("socket:") rescue false } == 1 }
      end
    end

    it "ends with the process" do
      program = listening('puts "ready"; gets')
      expect(File.socket?(socket_of(program))).to be(true)
      program.say("go")
      wait_until("the end") { !File.exist?(socket_of(program)) }
    end

    it "begins and ends with the configuration" do
      program = listening(<<~RUBY, profiled: true)
        puts "ready"
        path = RperfPush::Native.control_path
        RperfPush.shutdown
        p [File.exist?(path), RperfPush::Native.control_path]
        RperfPush.configure! { |config| config.control_socket = false }
        p RperfPush::Native.control_path
        RperfPush.configure! { |config| config.control_socket = "#{tmpdir}/own.sock" }
        p RperfPush::Native.control_path
        p RperfPush.configure { |config| config.control_socket = "relative" }
      RUBY
      expect(Array.new(4) { program.line }).to eq(["[false, nil]", "nil", "#{tmpdir}/own.sock".inspect, "false"])
      expect(program.log).to include('control_socket must be an absolute path, auto or false, got "relative"')
    end

    it "is another one in each forked child" do
      program = listening(<<~RUBY)
        children = Array.new(2) { fork { sleep } }
        grandchild = IO.popen("-") { |pipe| pipe ? pipe.gets : (puts "1"; exit!) }
        puts "ready", children.join(" ")
        at_exit { Process.kill(:KILL, *children) }
        loop { Math.sqrt(2) }
      RUBY
      children = program.line.split.map(&:to_i)
      pids = wait_until("the children's sockets") do
        found = JSON.parse(command("ps", "--json").out).map { |one| one["pid"] }
        found if (children - found).empty?
      end
      expect(pids).to include(program.pid)
    ensure
      program&.stop(:TERM)
    end
  end

  it "explains a Puma with an endless regexp in one of its threads" do
    File.write("#{tmpdir}/config.ru", <<~'RUBY')
      require "rperf_push/control"
      run lambda { |env|
        if env["PATH_INFO"] == "/endless"
          ("a" * 60 + "b").match(/^(a|a)*\1$/)
        end
        [200, {}, ["ok"]]
      }
    RUBY
    server = HeldPort.new
    log = "#{tmpdir}/puma.log"
    pid = Process.spawn({ "RPERF_PUSH_CONTROL_SOCKET" => sockets }, RbConfig.ruby, "-I", RubyProgram::LIB, "-S", "puma", "-b", "tcp://127.0.0.1:#{server}",
                        "-t", "3:3", "#{tmpdir}/config.ru", out: log, err: log)
    wait_until("Puma") { TCPSocket.new("127.0.0.1", server.number).close || true rescue nil }
    stuck = TCPSocket.new("127.0.0.1", server.number).tap { |socket| socket.write("GET /endless HTTP/1.1\r\nHost: x\r\n\r\n") }
    document = wait_until("the regexp") do
      found = RperfPush::ControlClient.new("#{sockets}/#{pid}.sock").ask("stacks")
      found if found["threads"].any? { |one| one["stack"].any? { |name, _, line| name == "String#match" && line.zero? } }
    end
    expect(document["complete"]).to be(true)
    regexp = document["threads"].find { |one| one["stack"].any? { |name,| name == "String#match" } }
    expect(regexp["stack"].map { |_, path, line| [File.basename(path), line] }).to include(["config.ru", 4])
    expect(document["threads"].map { |one| one["name"] }.join(" ")).to match(/puma srv tp/)
  ensure
    stuck&.close
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end
end
