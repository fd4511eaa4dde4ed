# frozen_string_literal: true

require "json"
require "securerandom"
require_relative "support/fake_pyroscope/remote"

# What a process that is being profiled may do to have another one. No child hangs or sends what is its parent's, and
# what both have sampled is sent when they end.
RSpec.describe "A profiled process", :interpreted, :waiting do
  before(:all) { @pyroscope = FakePyroscope::Remote.new }
  after(:all) { @pyroscope.stop }

  let(:service) { "fork-#{SecureRandom.hex(4)}" }

  prelude = Burning::CODE + <<~'RUBY'
    def before_work = burn
    def parent_work = burn
    def child_work = burn
    def grandchild_work = burn
    def say(name) = File.write(ENV.fetch("SAID"), "#{name}=#{Process.pid}\n", mode: "a")

    $stdout.sync = true
    # All ticks, and no budget, which would make them fewer on a slow machine: burn is sure to meet some.
    RperfPush.configure! { |config| config.report_pid, config.frequency, config.overhead_limit = true, 999, 1 }
    say :parent
  RUBY

  # @param code [String] what comes after the prelude
  # @param before [String] what comes before it
  # @param env [Hash] options
  # @return [Hash{String => String}] see said
  define_method(:run) do |code, before: "", **env|
    env = { "RPERF_PUSH_SERVER_ADDRESS" => @pyroscope.url, "RPERF_PUSH_APPLICATION_NAME" => service, "SAID" => "#{tmpdir}/said",
            "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "60",
            **env.to_h { |option, value| ["RPERF_PUSH_#{option.upcase}", value.to_s] } }
    @out, err, status = run_ruby([before, prelude, code].join("\n"), env:, timeout: 180)
    expect(status).to be_success, err
    # Where a server hangs, a shutdown may end before the last window was sent; and a machine may have no turn for a program for seconds.
    allowed = ["upload to pyroscope failed: no answer", "the shutdown timeout of 0.5 s passed", "no sample came for", "samples come again"]
    expect(err.lines.grep_v(/\A\[rperf-push\] (?:#{Regexp.union(allowed)})/)).to be_empty, err
    said
  end

  # @return [Hash{String => String}] who said so => its process id
  def said = File.readlines("#{tmpdir}/said", chomp: true).to_h { |line| line.split("=") }

  # @return [Hash{String => Array<String>}] process id => names of the methods that it says did work
  def sent
    received = @pyroscope.received.map { |one| [one.labels.to_h, one.profile] }
    received.select { |labels, _| labels["service_name"] == service }.group_by { |labels, _| labels["pid"] }
            .transform_values { |both| both.flat_map { |_, profile| profile.string_table.to_a }.uniq.grep(/_work\z/).map { |name| name.delete_prefix("Object#") }.sort }
  end

  it "may fork: each sends its own, what came before the fork is the parent's" do
    pids = run(<<~'RUBY')
      before_work
      child = fork do
        say :child
        child_work
      end
      parent_work
      Process.wait(child)
      exit($?.success?)
    RUBY
    expect(sent).to eq(pids["parent"] => %w[before_work parent_work], pids["child"] => %w[child_work])
  end

  it "may fork children that fork" do
    pids = run(<<~'RUBY')
      before_work
      Process.wait(fork do
        say :child
        child_work
        Process.wait(fork { say :grandchild; grandchild_work })
        exit($?.success?)
      end)
      exit($?.success?)
    RUBY
    expect(sent).to eq(pids["parent"] => %w[before_work], pids["child"] => %w[child_work], pids["grandchild"] => %w[grandchild_work])
  end

  it "may fork in a thread while others work" do
    pids = run(<<~'RUBY')
      busy = Thread.new { loop { parent_work } }
      Thread.new { Process.wait(fork { say :child; child_work }) }.join
      busy.kill.join
      parent_work
      exit($?.nil? || $?.success?)
    RUBY
    expect(sent).to eq(pids["parent"] => %w[parent_work], pids["child"] => %w[child_work])
  end

  it "may fork without a block" do
    pids = run(<<~'RUBY')
      if (child = fork)
        parent_work
        Process.wait(child)
      else
        say :child
        child_work
      end
    RUBY
    expect(sent).to eq(pids["parent"] => %w[parent_work], pids["child"] => %w[child_work])
  end

  it "may become a daemon" do
    pids = run(<<~'RUBY')
      before_work
      RperfPush.flush
      Process.daemon(true, true)
      say :daemon
      child_work
    RUBY
    wait_until("the daemon's profile") { sent.size == 2 }
    expect(sent).to eq(pids["parent"] => %w[before_work], said["daemon"] => %w[child_work])
  end

  it "may talk to itself with popen" do
    pids = run(<<~'RUBY')
      if (pipe = IO.popen("-"))
        parent_work
        print pipe.read
      else
        say :child
        child_work
        print "hello"
      end
    RUBY
    expect(@out).to eq("hello")
    expect(sent).to eq(pids["parent"] => %w[parent_work], pids["child"] => %w[child_work])
  end

  it "may run other programs" do
    pids = run(<<~'RUBY')
      20.times { system("true") or abort }
      print `echo hello`
      pid = spawn("exit 3")
      Process.wait(pid)
      print $?.exitstatus
      parent_work
    RUBY
    expect(@out).to eq("hello\n3")
    expect(sent).to eq(pids["parent"] => %w[parent_work])
  end

  %w[exec Kernel.exec Process.exec].each do |call|
    it "sends what it has before it replaces itself by #{call}, and goes on if that fails" do
      pids = run(<<~RUBY, upload_interval: 1800)
        before_work
        begin
          #{call}("no-such-program", "-x")
        rescue Errno::ENOENT => e
          print e.message, " "
        end
        parent_work
        #{call}({ "SAYS" => "replaced" }, "echo $SAYS", unsetenv_others: false)
      RUBY
      expect(@out).to eq("No such file or directory - no-such-program replaced\n")
      expect(sent).to eq(pids["parent"] => %w[before_work parent_work])
    end
  end

  it "sends what a child has before exec, once, and nothing of one that calls exec at once" do
    pids = run(<<~'RUBY', upload_interval: 1800)
      before_work
      20.times { |i| Process.wait(fork { say "quick#{i}"; exec("true") }) }
      Process.wait(fork { say :child; child_work; exec("true") })
      parent_work
    RUBY
    quick = pids.select { |name, _| name.start_with?("quick") }.values
    expect(sent.except(*quick)).to eq(pids["parent"] => %w[before_work parent_work], pids["child"] => %w[child_work])
    expect((sent.keys & quick).size).to be < 20 # a machine may have no turn for some of them for a tenth of a second
  end

  it "may have children that leave with exit!, and then they send nothing" do
    pids = run(<<~'RUBY', upload_interval: 1800)
      Process.wait(fork { say :child; child_work; exit!(7) })
      print $?.exitstatus
      parent_work
    RUBY
    expect(@out).to eq("7")
    expect(sent).to eq(pids["parent"] => %w[parent_work])
  end

  it "has what at_exit does in the profile, in a child as well" do
    pids = run(<<~'RUBY')
      at_exit { Process.pid == ENV["PARENT"].to_i ? parent_work : child_work }
      ENV["PARENT"] = Process.pid.to_s
      Process.wait(fork { say :child })
    RUBY
    expect(sent).to eq(pids["parent"] => %w[parent_work], pids["child"] => %w[child_work])
  end

  it "has it even where at_exit was called before configure, as some servers do" do
    pids = run("", before: "at_exit { parent_work }")
    expect(sent).to eq(pids["parent"] => %w[parent_work])
  end

  it "gives a child numbers of its own" do
    run(<<~'RUBY')
      before_work
      RperfPush.flush
      child = fork { print RperfPush.stats.values_at(:running, :forks, :payloads_created, :cpu_ns_encoded).inspect }
      Process.wait(child)
    RUBY
    expect(@out).to eq("[true, 1, 0, 0]")
  end

  it "lets a child flush, label and be configured at once" do
    pids = run(<<~'RUBY')
      child = fork do
        say :child
        RperfPush.label(task: "child") { print RperfPush.labels; child_work }
        print RperfPush.flush(timeout: 60)
        exit!(0)
      end
      Process.wait(child)
    RUBY
    expect(@out.delete(" ")).to eq({ task: "child" }.inspect.delete(" ") + "true")
    expect(sent).to include(pids["child"] => %w[child_work])
  end

  it "may fork often while profiles are on their way" do
    run(<<~'RUBY', upload_interval: 0.02)
      busy = Thread.new { loop { parent_work } }
      16.times { |number| Process.wait(fork { number.even? ? exit!(0) : nil }); $?.success? or abort }
      busy.kill.join
    RUBY
    expect(@pyroscope.received.select { |one| one.labels.to_h["service_name"] == service }).to all(be_accepted)
  end

  # One of some 250 had lost all its samples, before one collector ticked for all sessions.
  it "has samples of every child that works, engine safepoint, whatever has forked it" do
    run(<<~'RUBY', engine: "safepoint", upload_interval: 1800)
      Array.new(2) { Thread.new { loop { parent_work; sleep 0.002 } } }
      body = -> { say Process.pid; child_work }
      ways = [-> { fork(&body) }, -> { Thread.new { fork(&body) }.value }, -> { Fiber.new { fork(&body) }.resume }]
      12.times { ways.map(&:call).each { |child| Process.wait(child); $?.success? or abort } }
    RUBY
    children = said.values - [said.fetch("parent")]
    expect(children.size).to eq(36)
    expect(sent.values_at(*children)).to all(eq(%w[child_work]))
  end

  it "has a child that closes its windows, though another thread had just begun when it was forked" do
    run(<<~'RUBY', upload_interval: 0.1)
      3.times do
        Thread.new {} # has to wait for the GVL
        burn
        Process.wait(fork { 100.times { burn if RperfPush.stats[:windows_closed] < 2 }; print RperfPush.stats[:windows_closed] >= 2, " "; exit!(0) })
      end
    RUBY
    expect(@out).to eq("true true true ")
  end

  it "ends its children in time when the server hangs" do
    @pyroscope.fault(delay: 30)
    run(<<~'RUBY', shutdown_timeout: 0.5)
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Process.wait(fork { child_work })
      print Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
    RUBY
    expect(@out.to_f).to be_between(0.5, 20)
  ensure
    @pyroscope.fault
  end

  it "leaves no socket to the programs it starts, and no generation of forks keeps its parents'" do
    run(<<~'RUBY')
      def sockets = Dir["/proc/self/fd/*"].count { |path| File.readlink(path).start_with?("socket:") rescue false }
      def flushed = burn && nil || RperfPush.flush(timeout: 60)
      flushed
      program = IO.popen(["ls", "-l", "/proc/self/fd"], &:read)
      puts "inherited=#{program.scan("socket:").size}"
      puts "first=#{sockets}"
      generations = lambda do |left|
        flushed
        left.zero? ? puts("last=#{sockets}") : Process.wait(fork { generations.call(left - 1) })
      end
      generations.call(6)
    RUBY
    seen = @out.scan(/(\w+)=(\d+)/).to_h.transform_values(&:to_i)
    expect(seen["inherited"]).to eq(0)
    expect(seen["last"]).to eq(seen["first"])
  end
end
