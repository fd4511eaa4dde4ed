# frozen_string_literal: true

require_relative "../support/profiled_program"
require_relative "../support/stress_program"

# Every nanosecond of every thread is in the profile of the window in which it passed, once.
RSpec.describe "Conservation of time", :interpreted do
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
      sleep 0.1 until RperfPush.stats[:windows_closed] > 22
      $done = true
      workers.each(&:join)
    end
  RUBY

  with_each_engine(mixed_program, upload_interval: 0.5) do
    let(:full_windows) { program.windows[1..20] }
    let(:workers) { program.samples.filter_map { |sample| sample.labels["worker"] }.uniq }

    it "gives each thread the whole of 20 windows", :measures do
      expect(full_windows.size).to eq(20)
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

    it "gives threads that come and go their lives", :measures do
      lives = program.wall_of_threads { |sample| sample.labels["short"] }
      expect(lives).to be_within(truth["lives"] * 0.03).of(truth["lives"])
    end

    it "shows the CPU time that all threads of the program used", :measures do
      expect(program.cpu).to be_within(truth["ruby_cpu"] * 0.02).of(truth["ruby_cpu"])
    end

    # Six periods a window are too few to say more of one thread than its ticks do: such threads share theirs with all others.
    it "shows the CPU time that each thread used, within the sampling error", :measures do
      workers.each do |name|
        cpu, thread = truth["cpu #{name}"], program.thread_with("worker" => name)
        next if cpu < 50_000_000 # a thread that only waits: a few switches

        seen = program.cpu { |sample| sample.thread == thread && sample.labels["worker"] == name }
        expect(seen).to be_within((cpu * 0.02) + sampling_error(cpu)).of(cpu), name
      end
    end
  end

  # From ten periods a window on, the sum is that of the thread's own clock, whatever its ticks come to. One window: of a thread that ends
  # early in its last one the pool would know. Few waits: theirs is in the pool.
  with_each_engine(<<~RUBY, upload_interval: 3600) do
    def burn(milliseconds)
      stop = Truth.thread_cpu + milliseconds * 1_000_000
      nil while Truth.thread_cpu < stop
    end

    Truth.profile do
      Array.new(3) do |i|
        Thread.new do
          RperfPush.label(worker: i)
          cpu = Truth.thread_cpu
          (15 - i * 3).times { burn(80); sleep 0.01 * i }
          Truth["cpu \#{i}"] = Truth.thread_cpu - cpu
        end
      end.each(&:join)
    end
  RUBY
    it "shows exactly the CPU time of threads that burn ten periods in a window", :measures do
      3.times do |i|
        cpu, thread = truth["cpu #{i}"], program.thread_with("worker" => i.to_s)
        expect(program.cpu { |sample| sample.thread == thread }).to be_within((cpu * 0.01) + 5_000_000).of(cpu), "thread #{i}"
      end
    end
  end

  # The frame table is busy while it turns over, so a tick of just then cannot close its thread's window.
  it "gives no time to the window before when ticks come while windows end" do
    skip "needs rake compile:testing" unless StressProgram.built?
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, upload_interval: 0.1, arguments: ["-I", StressProgram::TESTING_LIB], env: { "RPERF_PUSH_TESTING_HZ" => "5000" })
      methods = Array.new(2_000) { |i| eval("def m\#{i} = \#{i} + 1"); :"m\#{i}" }
      Truth.profile do
        methods.each { |name| send(name) } until RperfPush.stats[:windows_closed] > 60
      end
    RUBY
    over = program.windows.count do |window|
      program.in_window(window).group_by(&:thread).except(nil).any? { |_, samples| samples.sum(&:wall) > window.duration_nanos }
    end
    expect(program.windows.size).to be > 60
    expect(over).to eq(0)
  end
end
