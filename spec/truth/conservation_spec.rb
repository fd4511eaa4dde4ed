# frozen_string_literal: true

require_relative "../support/profiled_program"
require_relative "../support/stress_program"

# Every nanosecond of every thread is in the profile of the window in which it passed, once.
RSpec.describe "Conservation of time" do
  mixed_program = <<~RUBY
    require "burner"

    def fibonacci(n) = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)

    def worker(name)
      Thread.new do
        RperfPush.label(worker: name)
        cpu = Truth.thread_cpu
        yield until $done
        Truth["cpu " + name] = Truth.thread_cpu - cpu
      end
    end

    def allocate
      kept = Array.new(2_000) { |i| "text " + i.to_s }
      kept.each_slice(3).map(&:first).size
    end

    # Born and gone within a window or across its end; their lives add up.
    def short_lived
      Truth[:lives] += begin
        born = Truth.wall
        Thread.new { RperfPush.label(short: "yes") { fibonacci(16); sleep 0.05 }; Truth.wall }.value - born
      end
    end

    Truth.profile do
      queue = Thread::Queue.new
      # Eight of them want the GVL all the time.
      workers = Array.new(5) { |i| worker("ruby " + i.to_s) { fibonacci(15) } } + [
        worker("c") { Burner.heavy(0.003) },
        worker("off the GVL") { Burner.burn_without_gvl(0.002); fibonacci(5) },
        worker("sleep") { sleep 0.013 },
        worker("pop") { queue.pop(timeout: 0.1) },
        worker("push") { queue << 1; sleep 0.007 },
        worker("allocate") { allocate },
        worker("short-lived") { short_lived; sleep 0.1 }
      ]
      sleep 0.1 until RperfPush.stats[:windows_sealed] > 32
      $done = true
      workers.each(&:join)
    end
  RUBY

  with_each_engine(mixed_program, upload_interval: 0.5, timeout: 90) do
    let(:full_windows) { program.windows[1..30] }
    let(:workers) { program.samples.filter_map { |sample| sample.labels["worker"] }.uniq }

    it "gives each thread the whole of 30 windows" do
      expect(full_windows.size).to eq(30)
      expect(workers.size).to eq(12)
      threads = workers.map { |name| program.thread_with("worker" => name) }
      expect(program.shares_of_windows(threads, full_windows)).to all(be_within(0.01).of(1))
    end

    it "shows no more wall time for a thread than a window's duration" do
      program.windows.each do |window|
        threads = program.in_window(window).group_by(&:thread).except(nil)
        expect(threads.transform_values { |samples| samples.sum(&:wall) }.values.max).to be <= window.duration_nanos
      end
    end

    it "lets no time fall between two windows" do
      gaps = program.windows.each_cons(2).map { |one, next_one| next_one.time_nanos - one.time_nanos - one.duration_nanos }
      expect(gaps).to all(be_within(1_000).of(0))
    end

    it "gives threads that come and go their lives" do
      lives = program.wall_of_threads { |sample| sample.labels["short"] }
      expect(lives).to be_within(truth["lives"] * 0.01).of(truth["lives"])
    end

    it "shows the CPU time that all threads of the program used" do
      expect(program.cpu).to be_within(truth["ruby_cpu"] * 0.02).of(truth["ruby_cpu"])
    end

    it "shows the CPU time that each thread used" do
      workers.each do |name|
        cpu, thread = truth["cpu #{name}"], program.thread_with("worker" => name)
        next if cpu < 50_000_000 # a thread that only waits: a few switches

        seen = program.cpu { |sample| sample.thread == thread && sample.labels["worker"] == name }
        expect(seen).to be_within(cpu * 0.02).of(cpu), name
      end
    end
  end

  # The frame table is busy while it turns over, so a tick of just then cannot close its thread's window.
  it "gives no time to the window before when ticks come while windows end" do
    skip "needs rake compile:testing" unless StressProgram.built?
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, upload_interval: 0.1, overhead_limit: 1, arguments: ["-I", StressProgram::TESTING_LIB], env: { "RPERF_PUSH_TESTING_HZ" => "5000" })
      methods = Array.new(2_000) { |i| eval("def m\#{i} = \#{i} + 1"); :"m\#{i}" }
      Truth.profile do
        methods.each { |name| send(name) } until RperfPush.stats[:windows_sealed] > 100
      end
    RUBY
    over = program.windows.count do |window|
      program.in_window(window).group_by(&:thread).except(nil).any? { |_, samples| samples.sum(&:wall) > window.duration_nanos }
    end
    expect(program.windows.size).to be > 100
    expect(over).to eq(0)
  end
end
