# frozen_string_literal: true

require_relative "../support/profiled_program"

# What a method is given does not hang on what its thread did before: a wait, another label, its own start. Each piece of work has a
# method of its own, and its time is held against the thread's own clock. test_time_shares.c holds many more patterns to much less, with
# ticks that it makes; these show that the system's are like them.
RSpec.describe "Shares of time", :measures, :interpreted do
  work = <<~RUBY
    def burn(milliseconds)
      stop = Truth.thread_cpu + milliseconds * 1_000_000
      nil while Truth.thread_cpu < stop
    end

    # Threads add up in a Hash of their own: one may be taken off the GVL between reading and writing.
    def spend(name)
      before = Truth.thread_cpu
      send(name)
      sums = Thread.current[:sums] ||= Hash.new(0)
      sums[name] += Truth.thread_cpu - before
    end

    LOCK = Mutex.new
    def tell = LOCK.synchronize { Thread.current[:sums].each { |name, sum| Truth[name] += sum } }
  RUBY

  # As a request does between its queries: a wait that ends whenever, then work.
  def bursts(work, milliseconds:, threads:, seconds: 4)
    <<~RUBY
      #{work}
      QUARTERS = %i[quarter_0 quarter_1 quarter_2 quarter_3]
      QUARTERS.each { |name| eval("def \#{name} = burn(#{milliseconds / 4.0})") }
      Truth.profile do
        stop = Truth.wall + #{seconds} * 1_000_000_000
        Array.new(#{threads}) do
          Thread.new do
            while Truth.wall < stop
              sleep(rand(0.002..0.006) * [1, #{threads} / 2].max)
              QUARTERS.each { |name| spend(name) }
            end
            tell
          end
        end.each(&:join)
      end
    RUBY
  end

  def expect_shares(program, names, frequency: 250, bias: 0.1)
    expect(program.status).to be_success, program.log
    all = program.truth.values_at(*names).sum
    names.each do |name|
      truth = program.truth[name]
      seen = program.cpu { |sample| sample.in?("Object##{name}") }
      # Where other programs want the core, code after a wait is seen somewhat too often.
      error = (truth * bias) + sampling_error(truth, all:, frequency:, alike: 1) # no piece lasts from one tick to the next
      expect(seen).to be_within(error).of(truth), "#{name}: #{(seen * 100.0 / truth).round} %"
    end
  end

  # Ticks of engine safepoint come from a thread that needs a core, which it gets late where others keep all of them busy.
  [["signal", 1.2, 8], ["signal", 4.8, 2],
   ["safepoint", 4.8, 1], ["safepoint", 4.8, 2], ["safepoint", 4.8, 60], ["safepoint", 1.2, 8], ["safepoint", 15, 1]].each do |engine, milliseconds, threads|
    it "are true in each quarter of #{milliseconds} ms after a wait, with #{threads} threads and engine #{engine}" do
      program = ProfiledProgram.run(bursts(work, milliseconds:, threads:), folder: tmpdir, engine:, frequency: 199)
      expect_shares(program, %w[quarter_0 quarter_1 quarter_2 quarter_3], frequency: 199)
    end
  end

  # The kernel's time slices end at its ticks, so shares are less true there; sums are not.
  it "are within a half, and sums exact, beside a program that spins on the same core" do
    spinner = <<~RUBY
      spinner = spawn(RbConfig.ruby, "--disable-gems", "-e", "stop = Time.now + 120; nil while Time.now < stop")
      at_exit { Process.kill("KILL", spinner) && Process.wait(spinner) }
    RUBY
    core = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\d+)/, 1]
    text = spinner + bursts(work, milliseconds: 4.8, threads: 2, seconds: 6)
    program = ProfiledProgram.run(text, folder: tmpdir, frequency: 250, prefix: ["taskset", "-c", core])
    expect_shares(program, %w[quarter_0 quarter_1 quarter_2 quarter_3], bias: 0.5)
    expect(program.cpu).to be_within(program.truth["ruby_cpu"] * 0.03).of(program.truth["ruby_cpu"])
    expect(program.truth["stats"]["preemptions"]).to be > 10
  end

  it "are true where each piece of work has a thread of its own" do
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, frequency: 250)
      #{work}
      def often = burn(2)
      def seldom = burn(2)
      Truth.profile { 1200.times { |i| Thread.new { spend(i % 4 == 0 ? :seldom : :often); tell }.join } }
    RUBY
    expect_shares(program, %w[often seldom])
  end

  it "leave no method under a label that it never had, however many there are" do
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, max_label_values: 1000)
      #{work}
      def burn_a_little = burn(1.5)
      ACTIONS = Array.new(204) { |i| eval("def action_\#{i} = RperfPush.label(endpoint: \#{i}) { spend(:burn_a_little) }") }
      Truth.profile { 2000.times { |i| send(ACTIONS[i % 204]) }; tell }
    RUBY
    expect(program.cpu { |sample| sample.in?("Object#burn_a_little") }).to be > program.cpu * 0.9
    elsewhere = program.samples.select { |sample| sample.labels["endpoint"] && !sample.in?("Object#action_#{sample.labels["endpoint"]}") }
    expect(elsewhere.sum(&:cpu)).to be < program.cpu * 0.005
  end
end
