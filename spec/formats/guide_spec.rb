# frozen_string_literal: true

require "json"
require "net/http"
require "rperf_push"
require_relative "../support/held_port"

# The examples of rperf's guide under our names, chapters 3 to 6 and appendix A, as they are to be typed there, but for smaller numbers. Those that
# need a server are in spec/integrations/recorded_servers_spec.rb; what asks for a browser or for flamegraph.pl is not typed anywhere.
RSpec.describe "An example of rperf's guide", :once do
  include CommandLine

  programs = {
    "fib.rb" => <<~RUBY,
      def fib(n)
        return n if n <= 1
        fib(n - 1) + fib(n - 2)
      end
      fib(30)
    RUBY
    "mixed.rb" => <<~RUBY,
      def cpu_work(n)
        sum = 0
        n.times { |i| sum += i * i }
        sum
      end

      def io_work
        sleep(0.05)
      end

      5.times do
        cpu_work(500_000)
        io_work
      end
    RUBY
    "threaded_app.rb" => "Array.new(4) { Thread.new { 1_000_000.times { |i| i * i } } }.each(&:join)\n",
    "my_app.rb" => "def work = 1_500_000.times { |i| i * i }\nwork\n"
  }

  table = /\n Flat:\n +[\d.]+ ms +[\d.]+%  \S+.*\n(?:.*\n)*\n Cumulative:\n +[\d.]+ ms +[\d.]+%  \S+/
  text = /\ATotal: [\d.]+ms \((?:cpu|wall)\)\nSamples: \d+, Frequency: \d+Hz\n(?:.+\n)*#{table}/
  stat = /\A Performance stats for 'ruby [^']+':\n\n +[\d.,]+ ms user\n +[\d.,]+ ms sys\n +[\d.,]+ ms real\n\n +[\d.,]+ ms +[\d.]+%  \[RperfPush\] CPU execution\n/
  rows = /\[Ruby +\] GC time \(\d+ count: \d+ minor, \d+ major\)\n +[\d,]+ +\[Ruby +\] allocated objects\n(?: +\d+ +\[Ruby +\] +[\d.]+%  .+\n)* +[\d,]+ +\[Ruby +\] freed objects\n(?:.*\n)* +[\d,]+ MB +\[OS +\] peak memory \(maxrss\)\n/
  end_of_stat = %r{\n  [\d,]+ samples / [\d,]+ triggers, [\d.]+% profiler overhead\n}
  report = /#{stat}(?:.*\n)*#{table}/
  two = / +2 +\[RperfPush\] Ruby processes profiled\n/
  fork = <<~'SHELL'
    rperf-push stat ruby -e '
    def parent_work = 10_000_000.times { 1 + 1 }
    def child_work = 10_000_000.times { 1 + 1 }
    fork { child_work }
    Process.waitall
    parent_work
    '
  SHELL

  # Each with a pattern for what it prints, or writes into a file. They run in this order, in one folder.
  commands = [
    # 3.1, 3.2
    ["rperf-push stat ruby fib.rb", stat], ["rperf-push stat ruby fib.rb", rows], ["rperf-push stat ruby fib.rb", end_of_stat],
    ["rperf-push stat ruby mixed.rb", /\[RperfPush\] GVL blocked \(I/],
    ["rperf-push exec ruby my_app.rb", report],
    # 3.3
    ["rperf-push record ruby fib.rb", "rperf-push.json.gz", /\A\x1F\x8B/n],
    ["rperf-push report --top rperf-push.json.gz", %r{ Flat:\n +[\d.]+ ms +[\d.]+%  Object#fib \(fib\.rb\)\n}],
    ["rperf-push record -m wall ruby my_app.rb", "rperf-push.json.gz", /\A\x1F\x8B/n],
    ["rperf-push record -o profile.json.gz ruby my_app.rb", "profile.json.gz", /\A\x1F\x8B/n],
    ["rperf-push record -o profile.pb.gz ruby my_app.rb", "profile.pb.gz", /\A\x1F\x8B/n],
    ["rperf-push record -o profile.collapsed ruby my_app.rb", "profile.collapsed", /^<main>;Object#work;Integer#times(?:;block in Object#work)? \d+$/],
    ["rperf-push record --format text -o profile.dat ruby my_app.rb", "profile.dat", text],
    ["rperf-push record -o profile.txt ruby fib.rb", "profile.txt", text],
    ["rperf-push record -m wall -o wall_profile.txt ruby mixed.rb", "wall_profile.txt", /\ATotal: [\d.]+ms \(wall\)\n.*Kernel#sleep \(<C method>\)/m],
    ["rperf-push record -v ruby my_app.rb",
     %r{\A\[RperfPush\] mode=cpu frequency=1000Hz\n\[RperfPush\] sampling: \d+ calls, [\d.]+ms total, [\d.]+us/call avg\n\[RperfPush\] samples recorded: \d+\n\[RperfPush\] top \d+ by flat:\n\[RperfPush\] +[\d.]+ms +[\d.]+%  \S+}],
    # 3.4, 6.1, 6.2
    ["rperf-push report", text], ["rperf-push report profile.json.gz", text], ["rperf-push report profile.pb.gz", text],
    ["rperf-push report --top", table], ["rperf-push report --text", text], ["rperf-push report --html profile.json.gz", /\A<!doctype html>/],
    ["rperf-push report --top profile.pb.gz", table], ["rperf-push report --text profile.pb.gz", text],
    # 3.5
    ["rperf-push record -o before.pb.gz ruby my_app.rb", "before.pb.gz", /\A\x1F\x8B/n],
    ["rperf-push record -o after.pb.gz ruby my_app.rb", "after.pb.gz", /\A\x1F\x8B/n],
    *["", " --top", " --text"].map { |option| ["rperf-push diff#{option} before.pb.gz after.pb.gz", /\ATotal: [\d.]+ → [\d.]+ ms, [+-][\d.]+ % \(cpu\)/] },
    # 3.6, 3.7, 5.4.4
    ["rperf-push stat --no-inherit ruby my_app.rb", stat], [fork, two],
    ["rperf-push help", /%GVL=blocked.*%GC=mark/m], ["rperf-push --help", /\n  record .*\n  stat .*\n  exec .*\n(?:  trace .*\n)?  report .*\n  diff /],
    ["rperf-push stat ruby threaded_app.rb", /\[RperfPush\] GVL wait \(contention\)\n/],
    # A.1
    ["rperf-push stat --report ruby my_app.rb", report],
    ["rperf-push record -m wall -f 500 -o profile.pb.gz ruby my_app.rb", "profile.pb.gz", /\A\x1F\x8B/n],
    ["rperf-push record -p ruby my_app.rb", text]
  ]

  # Runs all lines, each with an output of its own. One that stands there twice runs once.
  driver = <<~'RUBY'
    require "rperf_push/cli"
    require "shellwords"
    JSON.parse($stdin.read).each_with_index do |line, number|
      $stdout.reopen("#{number}.out", "w")
      $stderr.reopen($stdout)
      status = RperfPush::CLI.run(Shellwords.split(line).drop(1))
      $stdout.flush
      status.zero? || File.write("#{number}.out", "exit status #{status}\n", mode: "a")
    end
  RUBY

  it "works on the command line" do
    programs.each { |name, code| File.write("#{tmpdir}/#{name}", code) }
    lines = commands.map(&:first).uniq
    command = [RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "json", "-e", driver]
    _, err, status = run_program(command, env: { **CommandLine.silence, "TMPDIR" => tmpdir, "RUBYOPT" => nil }, stdin: JSON.generate(lines), chdir: tmpdir, timeout: 300)
    expect([err, status.success?]).to eq(["", true])
    outputs = lines.each_with_index.to_h { |line, number| [line, File.read("#{tmpdir}/#{number}.out", encoding: "UTF-8")] }
    expect(outputs.select { |_, output| output.match?(/^exit status|^rperf-push: /) }).to eq({})
    commands.each do |line, *file, pattern|
      seen = file.empty? ? outputs[line] : File.binread("#{tmpdir}/#{file.first}")
      expect(seen).to match(pattern), "#{line}\n#{seen[0, 2000]}"
    end
  end

  # What the examples call, and how they are looked at.
  world = <<~'RUBY'
    def compute_something = 200_000.times { |i| i * i }
    def workload = 5.times { compute_something; sleep 0.001 }
    # Long enough for every label to be seen.
    def handle_request = 10.times { compute_something }
    %i[check_health query_db render_response authenticate].each { |name| define_method(name) { handle_request } }
    User = Struct.new(:name) { def self.where(**) = self; def self.limit(count) = Array.new(count) { new("n") } }
    def same(got, wanted) = wanted == got || wanted === got || abort("#{caller(1, 1).first}: #{got.inspect} is not #{wanted.inspect}")
    def parts_of(data, key) = data[:label_sets].filter_map { |set| set[key] }.uniq.sort
  RUBY

  examples = {
    "4.1.1" => <<~'RUBY',
      data = RperfPush.start(output: "profile.json.gz", frequency: 1000, mode: :cpu) do
        compute_something
      end
      same(data, Hash)
      same(RperfPush.load("profile.json.gz")[:aggregated_samples], data[:aggregated_samples])
    RUBY
    "4.1.2" => <<~'RUBY',
      def fib(n)
        return n if n <= 1
        fib(n - 1) + fib(n - 2)
      end

      data = RperfPush.start(frequency: 1000, mode: :cpu) do
        fib(30)
      end
      RperfPush.save("profile.txt", data)
      same(File.read("profile.txt"), /\ATotal: [\d.]+ms \(cpu\)\nSamples: \d+, Frequency: 1000Hz\n(?:.+\n)*\n Flat:\n.* Object#fib \(4\.1\.2\)\n.* Cumulative:\n.* Object#fib \(4\.1\.2\)\n/m)
    RUBY
    "4.1.3" => <<~'RUBY',
      RperfPush.start(frequency: 1000, mode: :wall)
      compute_something
      data = RperfPush.stop
      same(data[:mode], :wall)
      same(RperfPush.stop, nil)
    RUBY
    "4.3" => <<~'RUBY',
      data = RperfPush.start(mode: :cpu) { 20.times { compute_something } }
      shape = { mode: Symbol, frequency: Integer, trigger_count: Integer, sampling_count: Integer, sampling_time_ns: Integer, detected_thread_count: 1,
                start_time_ns: Integer, duration_ns: Integer, unique_frames: Integer, unique_stacks: Integer, aggregated_samples: Array, label_sets: Array }
      shape.each { |key, kind| same(data[key], kind) }
      same(data[:label_sets].first, {})
      data[:aggregated_samples].each do |frames, weight, seq, lsi|
        frames.each { |path, label| same(path, String); same(label, String) }
        [weight, seq, lsi].each { |number| same(number, Integer) }
        same(data[:label_sets][lsi], Hash)
      end
      raw = RperfPush.start(mode: :cpu, aggregate: false) { 20.times { compute_something } }
      same(raw[:raw_samples].first.map(&:class), [Array, Integer, Integer, Integer])
      same(raw[:aggregated_samples].sum { |sample| sample[1] }, raw[:raw_samples].sum { |sample| sample[1] })
    RUBY
    "4.4" => <<~'RUBY',
      data = RperfPush.start { compute_something }
      RperfPush.save("profile.json.gz", data)
      RperfPush.save("profile.pb.gz", data)
      RperfPush.save("profile.collapsed", data)
      RperfPush.save("profile.txt", data)
      RperfPush.save("output.dat", data, format: :text)
      same(%w[profile.json.gz profile.pb.gz profile.collapsed].map { |path| RperfPush.load(path)[:aggregated_samples].sum { |sample| sample[1] } }.uniq.size, 1)
      same(File.read("output.dat"), File.read("profile.txt"))
    RUBY
    "4.5" => <<~'RUBY',
      RperfPush.start(frequency: 1000)
      compute_something
      snap = RperfPush.snapshot
      RperfPush.save("snap.json.gz", snap)
      compute_something
      data = RperfPush.stop
      sums = [snap, data].map { |one| one[:aggregated_samples].sum { |sample| sample[1] } }
      same(sums.sort, sums)
      same(RperfPush.snapshot, nil)

      RperfPush.start(frequency: 1000)
      2.times do |n|
        compute_something
        snap = RperfPush.snapshot(clear: true)
        RperfPush.save("profile-#{Time.now.to_i}-#{n}.pb.gz", snap)
      end
      RperfPush.stop
      same(Dir.glob("profile-*.pb.gz").size, 2)
    RUBY
    "4.6" => <<~'RUBY',
      same(RperfPush.label(request: "abc") { RperfPush.labels }, {})
      RperfPush.start
      RperfPush.label(request: "abc-123", endpoint: "/api/users") do
        handle_request
      end
      same(RperfPush.labels, {})
      RperfPush.label(request: "abc")
      RperfPush.label(phase: "db")
      same(RperfPush.labels, { request: "abc", phase: "db" })
      RperfPush.label(request: nil)
      same(RperfPush.labels, { phase: "db" })
      RperfPush.label(phase: nil)
      RperfPush.label(request: "abc") do
        RperfPush.label(phase: "db") do
          same(RperfPush.labels, { request: "abc", phase: "db" })
        end
        same(RperfPush.labels, { request: "abc" })
      end
      same(RperfPush.labels, {})
      RperfPush.stop
    RUBY
    "4.7" => <<~'RUBY',
      RperfPush.start(defer: true, mode: :wall)

      RperfPush.profile(endpoint: "/users") do
        handle_request
      end

      RperfPush.profile(endpoint: "/health") do
        check_health
      end

      data = RperfPush.stop
      RperfPush.save("profile.json.gz", data)
      same(parts_of(RperfPush.load("profile.json.gz"), :endpoint), %w[/health /users])
    RUBY
    "4.7.3, 4.7.4" => <<~'RUBY',
      RperfPush.start(defer: true, mode: :wall)
      RperfPush.profile(endpoint: "/users") do
        RperfPush.profile(phase: "db") do
          query_db
        end
        render_response
      end
      RperfPush.profile(endpoint: "/users") do
        RperfPush.label(phase: "auth") do
          authenticate
        end

        RperfPush.label(phase: "db") do
          query_db
        end
      end
      data = RperfPush.stop
      same(data[:label_sets].uniq.size, data[:label_sets].size)
      same([{ endpoint: "/users", phase: "db" }, { endpoint: "/users" }, { endpoint: "/users", phase: "auth" }] - data[:label_sets], [])
    RUBY
    "4.7.5, 4.7.6" => <<~'RUBY',
      same((RperfPush.profile { nil } rescue $!.class), RuntimeError)
      same((RperfPush.profile rescue $!.class), ArgumentError)
      RperfPush.start(mode: :wall)
      RperfPush.profile(endpoint: "/users") do
        handle_request
      end
      (RperfPush.profile(endpoint: "/x") { raise IOError }) rescue IOError
      same(RperfPush.labels, {})
      same(parts_of(RperfPush.stop, :endpoint).include?("/users"), true)
    RUBY
    "4.8.1" => <<~'RUBY',
      class ApplicationController
        def profile_action
          data = RperfPush.start(mode: :wall) do
            users = User.where(active: true).limit(100)
            result = users.map { |u| serialize_user(u) }
            render json: result
          end

          RperfPush.save("request_profile.txt", data)
        end

        def serialize_user(user) = user.to_h
        def render(json:) = json
      end
      ApplicationController.new.profile_action
      same(File.read("request_profile.txt"), /\ATotal: [\d.]+ms \(wall\)\n/)
    RUBY
    "4.8.2" => <<~'RUBY',
      cpu_data = RperfPush.start(mode: :cpu) { workload }
      RperfPush.save("cpu.txt", cpu_data)

      wall_data = RperfPush.start(mode: :wall) { workload }
      RperfPush.save("wall.txt", wall_data)
      same(parts_of(wall_data, :"%GVL").include?("blocked"), true)
    RUBY
    "4.8.3" => <<~'RUBY',
      data = RperfPush.start(mode: :cpu) { workload }
      flat = Hash.new(0)
      data[:aggregated_samples].each do |frames, weight, thread_seq|
        leaf_label = frames.first&.last # frames[0] is the leaf
        flat[leaf_label] += weight
      end

      top = flat.sort_by { |_, w| -w }.first(5)
      top.each do |label, weight_ns|
        puts "#{label}: #{weight_ns / 1_000_000.0}ms"
      end
      same(top.size, 1..5)

      data = RperfPush.start(mode: :cpu, aggregate: false) { workload }
      data[:raw_samples].each do |frames, weight, thread_seq|
        puts "thread=#{thread_seq} weight=#{weight}ns depth=#{frames.size}"
      end
      same(data[:raw_samples].size, 1..)
    RUBY
    "4.8.4, 6.3.1" => <<~'RUBY',
      data = RperfPush.start(mode: :cpu) { workload }
      RperfPush.save("profile.collapsed", data)
      leaves = []
      File.readlines("profile.collapsed").each do |line|
        stack, weight = line.rpartition(" ").then { |s, _, w| [s, w.to_i] }
        frames = stack.split(";")
        leaves << frames.last
        puts "#{frames.last}: #{weight / 1_000_000.0}ms"
      end
      same(leaves.size, 1..)
    RUBY
    "6.1" => <<~'RUBY',
      RperfPush.start(output: "profile.json") { compute_something }
      data = RperfPush.load("profile.json")
      same(data[:mode], :cpu)
    RUBY
    "A.2" => <<~'RUBY'
      data = RperfPush.start(output: "profile.pb.gz", mode: :cpu) do
        RperfPush.label(request: "abc-123") { 10.times { compute_something } }
      end
      same(parts_of(RperfPush.load("profile.pb.gz"), :request), ["abc-123"])
    RUBY
  }

  it "works in Ruby" do
    code = "#{world}#{examples.inspect}.each { |name, code| eval(code, TOPLEVEL_BINDING.dup, name) }"
    _, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", "-e", code], env: CommandLine.silence, chdir: tmpdir, timeout: 120)
    expect([err, status.success?]).to eq(["", true])
    next unless system("go version", out: File::NULL, err: File::NULL)

    # 5.3.5, 6.2: on what the last example has written
    { "-top" => /Object#compute_something/, "-comments" => /^rperf-push .*^mode cpu$.*^frequency 1000 Hz$.*^Ruby #{RUBY_VERSION}$/m, "-top -tagroot=thread_seq" => /100%  1$/,
      "-top -tagfocus=request=abc-123" => /compute_something/ }.each do |options, pattern|
      seen = IO.popen({ "TMPDIR" => tmpdir }, ["go", "tool", "pprof", *options.split, "#{tmpdir}/profile.pb.gz"], err: File::NULL, &:read)
      expect(seen).to match(pattern), "#{options}: #{seen}"
    end
  end

  # 5.3.5, 6.2: what `go tool pprof` is for there, on a file of `save`
  describe "with go tool pprof" do
    before do
      skip "no Go here" unless system("go version", out: File::NULL, err: File::NULL)
      frames = %w[compute handle_request <main>].map { |name| ["#{tmpdir}/my_app.rb", name, 2] }
      sets = [{}, { request: "abc-123" }, { request: "abc-123", "%GVL": "blocked" }, { "%GC": "mark" }]
      samples = [[frames, 400_000_000, 1, 0], [frames, 300_000_000, 2, 1], [frames.drop(1), 200_000_000, 2, 2], [frames.drop(2), 100_000_000, 1, 3]]
      RperfPush.save(file, { mode: :wall, frequency: 1000, duration_ns: 1_000_000_000, aggregated_samples: samples, label_sets: sets })
      File.write("#{tmpdir}/my_app.rb", "def compute\n  :the_line_that_computes\nend\n")
    end

    let(:file) { "#{tmpdir}/profile.pb.gz" }
    let(:pprof_env) { { "PPROF_TMPDIR" => tmpdir, "PPROF_BINARY_PATH" => tmpdir } }

    it "focuses on labels, and groups by them" do
      { "-tagfocus=request=abc-123" => /of 1000ms total.*\n(?:.*\n)* +300ms .* compute\n/, "-tagfocus=%GVL=blocked" => / 200ms .* handle_request\n/, "-tagfocus=%GC=mark" => / 100ms .* <main>\n/,
        "-tagroot=request" => / 500ms .* abc-123\n/, "-tagroot=thread_seq" => / 500ms .* 1\n/, "-tagroot=%GC" => / 100ms .* mark\n/ }.each do |option, pattern|
        out, err, = run_program(["go", "tool", "pprof", "-top", option, file], env: pprof_env)
        expect(out).to match(pattern), "#{option}\n#{out}#{err}"
      end
    end

    it "explores in its prompt" do
      out, err, status = run_program(["go", "tool", "pprof", file], env: pprof_env, stdin: "top\ntags\npeek handle_request\nlist compute\ntagfocus=request=abc\ntop\nquit\n")
      expect(status).to be_success, err
      expect(out).to match(/700ms 70\.00% .* compute\n.*request: Total .*abc-123.*:the_line_that_computes.*Active filters:\n +tagfocus=request=abc/m)
      expect(err).not_to match(/error|unrecognized|invalid/i)
    end

    it "shows its page: graph, flame graph, source" do
      port = HeldPort.new
      pid = Process.spawn(pprof_env, "go", "tool", "pprof", "-no_browser", "-http=127.0.0.1:#{port}", file, %i[out err] => File::NULL, pgroup: true)
      pages = { "ui/top" => /"Name":"compute".*"Flat":700000000/m, "ui/flamegraph" => /handle_request/, "ui/source?f=compute" => /the_line_that_computes/, "ui/peek?f=compute" => /handle_request/ }
      pages.each do |page, pattern|
        answer = wait_until("an answer") { Net::HTTP.get_response(URI("http://127.0.0.1:#{port}/#{page}")) rescue nil }
        expect(answer.code).to eq("200")
        expect(answer.body).to match(pattern), "#{page}\n#{answer.body[0, 3000]}"
      end
    ensure
      Process.kill(:KILL, -pid)
      Process.wait(pid)
    end
  end
end
