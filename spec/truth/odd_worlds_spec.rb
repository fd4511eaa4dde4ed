# frozen_string_literal: true

require_relative "../support/profiled_program"

# Where the usual way does not work: another way, and one line that says so.
RSpec.describe "Odd worlds" do
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

  # What a thread did since its last capture in a window, it did at that capture's stack: few windows, few ends.
  let(:options) { { folder: tmpdir, upload_interval: 5 } }

  def expect_all_of_the_time(program, engine:)
    expect(program.status).to be_success, program.log
    expect(program.truth["stats"]["engine"]).to eq(engine)
    all = program.truth["ruby_cpu"]
    expect(program.cpu).to be_within(all * 0.03).of(all)
  end

  def expect_true_times(program, engine:)
    expect_all_of_the_time(program, engine:)
    %w[first second].each do |method|
      truth = program.truth[method]
      expect(program.cpu { |sample| sample.in?("Object##{method}") }).to be_within(truth * 0.1).of(truth), method
    end
  end

  it "profiles with RUBY_MN_THREADS=1, at safepoints" do
    # Here a thread's CPU clock means nothing to the program either; but while one works, the other does not, as what it does
    # at once is short of the VM's time slice.
    # With some 1,500 samples, chance is off by less than 0.02.
    often = { frequency: 1000, overhead_limit: 0.2 }
    program = ProfiledProgram.run(<<~RUBY, **options, **often, env: { "RUBY_MN_THREADS" => "1" })
      def work(times) = times.times { |i| i * i }
      def turn(name, times)
        before = Truth.process_cpu
        work(times)
        Truth[name] += Truth.process_cpu - before
        sleep 0.0001
      end
      def single = 750.times { turn(:single, 20_000) }
      def double = 750.times { turn(:double, 40_000) }
      Truth.profile { [Thread.new { single }, Thread.new { double }].each(&:join) }
    RUBY
    expect_all_of_the_time(program, engine: "safepoint")
    single, double = %w[single double].map { |method| program.cpu { |sample| sample.in?("Object##{method}") } }
    truth = program.truth.values_at("single", "double")
    expect(double.fdiv(single + double)).to be_within(0.05).of(truth.last.fdiv(truth.sum))
    expect(program.log.lines).to contain_exactly(/engine safepoint instead of signal: RUBY_MN_THREADS is on/)
  end

  it "profiles the main Ractor and counts the threads of others" do
    program = ProfiledProgram.run(<<~RUBY, **options, upload_interval: 0.5, arguments: ["-W:no-experimental"])
      #{work}
      Truth.profile do
        ractors = Array.new(2) do
          Ractor.new do
            made = Array.new(3) { Thread.new { 30_000.times.map { |i| i.to_s * 3 }.size } }
            made.sum(&:value)
          end
        end
        [worker("first", 300), worker("second", 300)].each(&:join) # long, as there are many windows
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
    expect(program.samples.select { |sample| sample.leaf == "[unknown]" }.sum(&:cpu)).to be < program.cpu * 0.01
    expect(program.log).to eq("")
  end

  it "leaves a signal to the program that handles it" do
    program = ProfiledProgram.run(<<~RUBY, **options)
      #{work}
      trap("URG") { Truth[:trapped] += 1 }
      Truth.profile { [worker("first"), worker("second")].each(&:join); burn(0.3); Process.kill("URG", $$); sleep 0.1 }
    RUBY
    expect_true_times(program, engine: "safepoint")
    expect(program.truth["trapped"]).to eq(1)
    expect(program.log.lines).to contain_exactly(/engine safepoint instead of signal: the program handles SIGURG itself/)
  end

  it "gives the signal up to a program that traps it later" do
    program = ProfiledProgram.run(<<~RUBY, **options)
      #{work}
      Truth.profile do
        burn(0.3)
        trap("URG") { Truth[:trapped] += 1 }
        [worker("first"), worker("second")].each(&:join)
        burn(0.3)
        Truth[:before] = Truth[:trapped]
        Process.kill("URG", $$)
        sleep 0.1
      end
    RUBY
    expect_true_times(program, engine: "safepoint")
    expect(program.truth["trapped"] - program.truth["before"]).to eq(1)
    expect(program.truth["before"]).to be <= 3
    expect(program.log.lines).to contain_exactly(/engine safepoint instead of signal from now on/)
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
