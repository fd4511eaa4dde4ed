# frozen_string_literal: true

require_relative "../support/profiled_program"

# Where the usual way does not work: another way, and one line that says so.
RSpec.describe "Odd worlds", :measures, :interpreted do
  work = <<~RUBY
    def burn(seconds)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      nil while Truth.thread_cpu < stop
    end

    def worker(name, times = 100)
      Thread.new do
        Truth.spend(name) { times.times { send(name, 0.005) } }
      end
    end

    def first(seconds) = burn(seconds)
    def second(seconds) = burn(seconds)
  RUBY
  two_threads = <<~RUBY
    #{work}
    Truth.profile { [worker("first"), worker("second")].each(&:join); burn(0.3) }
  RUBY

  # What a thread did since its last capture in a window, it did at that capture's stack; and of a little CPU time in a window only the
  # pool knows. So there is one window.
  let(:options) { { folder: tmpdir, upload_interval: 3600 } }

  def expect_all_of_the_time(program, engine:)
    expect(program.status).to be_success, program.log
    expect(program.truth["stats"]["engine"]).to eq(engine)
    all = program.truth["ruby_cpu"]
    expect(program.cpu).to be_within(all * 0.03).of(all)
  end

  def expect_true_times(program, engine:, frequency: 99)
    expect_all_of_the_time(program, engine:)
    %w[first second].each do |method|
      truth = program.truth[method]
      error = (truth * 0.03) + sampling_error(truth, all: program.truth["ruby_cpu"], frequency:)
      expect(program.cpu { |sample| sample.in?("Object##{method}") }).to be_within(error).of(truth), method
    end
  end

  it "profiles with RUBY_MN_THREADS=1, at safepoints" do
    # Here a thread's CPU clock means nothing to the program either; but while one works, the other does not, as what it does
    # at once is short of the VM's time slice.
    # With some 1,500 samples chance is off by 0.012, on a machine that is slow to wake the collector by more.
    program = ProfiledProgram.run(<<~RUBY, **options, frequency: 1000, env: { "RUBY_MN_THREADS" => "1" })
      def work(ns) = (stop = Truth.process_cpu + ns; nil while Truth.process_cpu < stop)
      def turn(name, ns)
        before = Truth.process_cpu
        work(ns)
        Truth[name] += Truth.process_cpu - before
        sleep 0.0001
      end
      def single = 750.times { turn(:single, 700_000) }
      def double = 750.times { turn(:double, 1_400_000) }
      Truth.profile { [Thread.new { single }, Thread.new { double }].each(&:join) }
    RUBY
    expect_all_of_the_time(program, engine: "safepoint")
    single, double = %w[single double].map { |method| program.cpu { |sample| sample.in?("Object##{method}") } }
    truth = program.truth.values_at("single", "double")
    expect(double.fdiv(single + double)).to be_within(0.1).of(truth.last.fdiv(truth.sum))
    expect(program.log.lines).to contain_exactly(/engine safepoint instead of signal: RUBY_MN_THREADS is on/)
  end

  it "profiles the main Ractor and counts the threads of others" do
    program = ProfiledProgram.run(<<~RUBY, **options, arguments: ["-W:no-experimental"])
      #{work}
      Truth.profile do
        ractors = Array.new(2) do
          Ractor.new do
            made = Array.new(3) { Thread.new { 30_000.times.map { |i| i.to_s * 3 }.size } }
            made.sum(&:value)
          end
        end
        [worker("first"), worker("second")].each(&:join)
        burn(0.3)
        ractors.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
      end
    RUBY
    expect(program.status).to be_success, program.log
    expect(program.truth["stats"]).to include("engine" => "signal", "ractor_threads_ignored" => 8)
    %w[first second].each do |method|
      truth = program.truth[method]
      expect(program.cpu { |sample| sample.in?("Object##{method}") }).to be_within(truth * 0.1).of(truth)
    end
    expect(program.samples.select { |sample| sample.leaf == "[unknown]" }.sum(&:cpu)).to be < program.cpu * 0.05
    expect(program.log).to eq("")
  end

  it "leaves a signal to the program that handles it, and uses another one" do
    program = ProfiledProgram.run(<<~RUBY, **options)
      #{work}
      trap("URG") { Truth[:trapped] += 1 }
      Truth.profile { [worker("first"), worker("second")].each(&:join); burn(0.3); Process.kill("URG", $$); sleep 0.1 }
    RUBY
    expect_true_times(program, engine: "signal")
    expect(program.truth["trapped"]).to eq(1)
    expect(program.log).to eq("")
  end

  it "leaves all signals to the program that handles all" do
    program = ProfiledProgram.run(<<~RUBY, **options)
      #{work}
      %w[URG WINCH].each { |name| trap(name) { Truth[:trapped] += 1 } }
      Truth.profile { [worker("first"), worker("second")].each(&:join); burn(0.3); Process.kill("URG", $$); sleep 0.1 }
    RUBY
    expect_true_times(program, engine: "safepoint")
    expect(program.truth["trapped"]).to eq(1)
    expect(program.log.lines).to contain_exactly(/engine safepoint instead of signal: the program handles SIGURG and SIGWINCH itself/)
  end

  {
    %w[URG] => ["signal", /the program handles SIGURG itself from now on: SIGWINCH is used/],
    %w[WINCH URG] => ["safepoint", /engine safepoint instead of signal from now on: the program handles SIGURG and SIGWINCH itself/]
  }.each do |trapped, (engine, line)|
    it "gives the signal up to a program that traps #{trapped.join(" and ")} later: engine #{engine}" do
      program = ProfiledProgram.run(<<~RUBY, **options)
        #{work}
        Truth.profile do
          burn(0.3)
          #{trapped}.each { |name| trap(name) { Truth[:trapped] += 1 } }
          [worker("first"), worker("second")].each(&:join)
          burn(0.3)
          Truth[:before] = Truth[:trapped]
          Process.kill("URG", $$)
          sleep 0.1
        end
      RUBY
      expect_true_times(program, engine:)
      expect(program.truth["trapped"] - program.truth["before"]).to eq(1)
      expect(program.truth["before"]).to be <= 3
      expect(program.log.lines).to contain_exactly(line)
    end
  end

  # As workers do that reset all signals. Ticks that come before a safepoint are lost, and with them the timers.
  it "takes the signal back from a program that does not handle it" do
    program = ProfiledProgram.run(<<~RUBY, **options, frequency: 1000)
      #{work}
      require "burner"
      Truth.profile do
        waiting = worker("first", 100)
        burn(0.2)
        ["DEFAULT", "IGNORE", "SIG_IGN", nil, "", "SYSTEM_DEFAULT"].each do |nobody|
          trap("URG", nobody)
          Truth.spend("lost") { Burner.heavy(0.03) }
          Truth.spend("second") { 40.times { second(0.005) } }
          Truth.spend("other") { 40.times { Burner.other(0.005) } }
        end
        waiting.join
      end
    RUBY
    expect_true_times(program, engine: "signal", frequency: 250) # the kernel's ticks
    other = program.cpu { |sample| sample.leaf == "Burner.other" }
    expect(other).to be_within((program.truth["other"] * 0.1) + sampling_error(program.truth["other"], frequency: 250)).of(program.truth["other"])
    expect(program.log.lines).to contain_exactly(/the program has reset SIGURG: taken back/)
  end

  it "samples threads at safepoints that get no timer" do
    limited = ["bash", "-c", "ulimit -i 0; exec \"$@\"", "bash"]
    program = ProfiledProgram.run(two_threads, **options, prefix: limited)
    expect_true_times(program, engine: "signal")
    expect(program.log.lines).to contain_exactly(/no timer for some threads \(.+\): sampled at safepoints/)
  end

  it "samples threads at safepoints that block the signal" do
    program = ProfiledProgram.run("require 'burner'; Burner.block_signal('URG');\n#{two_threads}", **options)
    expect_true_times(program, engine: "signal")
    expect(program.log.lines).to contain_exactly(/no timer for some threads \(SIGURG is blocked\): sampled at safepoints/)
  end
end
