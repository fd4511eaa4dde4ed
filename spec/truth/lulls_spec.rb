# frozen_string_literal: true

require_relative "../support/profiled_program"

# Where threads change so often that hooks alone would break the budget, they listen for a part of the time. The budget holds,
# and what nobody saw is in the profile all the same.
RSpec.describe "Lulls", :measures do
  include RubyProgram

  limit = 0.005

  storm_program = <<~RUBY
    def work
      i = 0
      i += 1 while i < 60
    end

    def worker(name)
      Thread.new do
        RperfPush.label(worker: name)
        began, cpu = Truth.wall, Truth.thread_cpu
        yield until $done
        Truth["cpu " + name] = Truth.thread_cpu - cpu
        Truth["wall " + name] = Truth.wall - began
      end
    end

    # Half of what it does has one label, half another.
    def labelled
      RperfPush.label(half: "one") { work; Thread.pass }
      RperfPush.label(half: "other") { work; Thread.pass }
    end

    def many_labels
      40.times { |i| RperfPush.label(many: i) { 15.times { work; Thread.pass } } }
    end

    def allocate
      Array.new(200) { |i| "text " + i.to_s }
      Thread.pass
    end

    # Born and gone while nobody listens, or not.
    def short_lived
      Truth[:lives] += begin
        born = Truth.wall
        Thread.new { RperfPush.label(short: "yes") { 20.times { work; Thread.pass } }; Truth.wall }.value - born
      end
    end

    def collecting_ms = GC.stat.values_at(:marking_time, :sweeping_time).sum

    GC.measure_total_time = true
    Truth.profile do
      gc = collecting_ms
      workers = Array.new(3) { |i| worker("storm " + i.to_s) { work; Thread.pass } } + [
        worker("labels") { labelled },
        worker("many labels") { many_labels },
        worker("allocate") { allocate },
        worker("sleep") { sleep 0.4 },
        worker("short-lived") { short_lived; sleep 0.01 }
      ]
      sleep 0.5
      before, from = RperfPush.stats, Truth.wall
      sleep 0.1 until RperfPush.stats[:windows_sealed] > 8
      after = RperfPush.stats
      Truth["seconds"] = (Truth.wall - from) / 1e9
      %i[lull_ns overhead_ns overhead_hooks_ns].each { |stat| Truth[stat] = after[stat] - before[stat] }
      $done = true
      workers.each(&:join)
      Truth["gc"] = (collecting_ms - gc) * 1_000_000
    end
  RUBY

  with_each_engine(storm_program, overhead_limit: limit) do
    def share_of(state, worker)
      of_worker = ->(sample) { sample.labels["worker"] == worker }
      program.wall { |sample| of_worker[sample] && sample.state == state } / program.wall(&of_worker).to_f
    end

    it "hold the budget" do
      expect(truth["lull_ns"] / truth["seconds"] / 1e9).to be > 0.1
      expect(truth["overhead_ns"] / truth["seconds"] / 1e9).to be < limit * 2 # without lulls it is ten times as much
    end

    # Ticks are drawn while somebody listens.
    def sampling_error_of(cpu, **how) = sampling_error(cpu, frequency: 99 * (1 - (truth["lull_ns"] / truth["seconds"] / 1e9)), **how)

    # Draws of small pools may get four periods of a state more than was burnt by then, and no later window takes that back.
    overdrawn = 4 * 1_000_000_000 / 99 * 3

    it "leave out no CPU time" do
      truth.select { |fact, _| fact.match?(/\Acpu (storm|labels|many labels|allocate)/) }.each do |fact, cpu|
        seen = program.cpu { |sample| sample.labels["worker"] == fact.delete_prefix("cpu ") }
        expect(seen).to be_within((cpu * 0.03) + sampling_error_of(cpu)).of(cpu), fact
      end
      most = (truth["ruby_cpu"] * 0.03) + overdrawn
      expect(program.cpu).to be_within(most).of(truth["ruby_cpu"]) # with threads that come and go
    end

    it "give each thread the whole of each window" do
      threads = ["storm 0", "labels", "many labels", "allocate", "sleep"].map { |name| program.thread_with("worker" => name) }
      expect(program.shares_of_windows(threads, program.windows[1..7])).to all(be_within(0.01).of(1))
    end

    it "give threads that come and go their lives" do
      parent = program.thread_with("worker" => "short-lived") # they have its labels at their ends
      lives = program.wall_of_threads { |sample| sample.labels["worker"] == "short-lived" && sample.thread != parent }
      expect(lives).to be_within(truth["lives"] * 0.05).of(truth["lives"])
    end

    it "know what a thread does that does not run" do
      expect(share_of(:blocked, "sleep")).to be > 0.5 # where others are slow to hand it the GVL, it waits
    end

    # These never block: what they do not run, they wait. Some of their CPU time goes into changing threads, off the GVL.
    it "share out time as it was shared out before" do
      running = truth["cpu storm 0"] / truth["wall storm 0"].to_f
      expect(share_of(:running, "storm 0")).to be_between(0.0001, running + 0.15)
      expect(share_of(:waiting, "storm 0")).to be_within(0.2).of(1 - running)
    end

    it "know the labels of what nobody saw" do
      halves = program.cpu { |sample| %w[one other].include?(sample.labels["half"]) }
      expect(halves).to be_positive # how much, some ten draws say, in bursts of four: too few for a bound
    end

    it "see the GC" do
      seen = program.cpu { |sample| %i[marking sweeping].include?(sample.state) }
      expect(seen).to be_within(truth["gc"] * 0.5).of(truth["gc"])
    end
  end

  # Of fifty threads that wait for the GVL, few get it between two lulls: the others were not heard to ask for it.
  it "know who waits since before they ended" do
    waiting = [1, 0.001].map do |overhead_limit|
      program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, overhead_limit:)
        Truth.profile do
          storm = Array.new(50) { Thread.new { RperfPush.label(in: "storm") { Thread.pass until $done } } }
          sleep 0.1 until RperfPush.stats[:windows_sealed] > 3
          $done = true
          storm.each(&:join)
        end
      RUBY
      samples = program.samples.select { |sample| sample.labels["in"] == "storm" }
      samples.select { |sample| sample.state == :waiting }.sum(&:wall).fdiv(samples.sum(&:wall))
    end
    expect(waiting.last).to be_within(0.03).of(waiting.first)
  end

  # The VM asks the thread that ran last to end it, and that one does not run again.
  it "end after all has become quiet" do
    program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, overhead_limit: 0.0005, upload_interval: 60)
      def burn(seconds)
        stop = Truth.thread_cpu + seconds * 1_000_000_000
        nil while Truth.thread_cpu < stop
      end

      Truth.profile do
        late = Thread.new do
          sleep 0.1 until $done
          sleep 6
          Truth.spend(:burn) { burn(3) }
        end
        storm = Array.new(20) { Thread.new { Thread.pass until $done } }
        sleep 3
        $done = true
        storm.each(&:join)
        sleep 0.3
        late.join
      end
    RUBY
    expect(program.log).to eq("")
    # So small a budget stretches the period. What has less than ten of the longest in a window shares a pool, with the storm's time in it.
    burnt = program.cpu { |sample| sample.in?("Object#burn") }
    expect(burnt).to be_between(program.truth["burn"] * 0.95, program.truth["ruby_cpu"] * 1.03)
  end

  it "end for whoever wants to know" do
    stdout, stderr, status = run_ruby(<<~RUBY, timeout: 180)
      require "json"
      RperfPush.configure! do |config|
        config.application_name = "storm"
        config.backend = :directory
        config.directory = #{tmpdir.inspect}
        config.upload_interval = 1
        config.overhead_limit = 0.0005
      end
      storm = Array.new(20) { Thread.new { Thread.pass until $done } }
      sleep 0.05 until RperfPush.stats[:lull_ns] > 3_000_000_000
      flushed = Array.new(20) { sleep 0.1; RperfPush.flush }.all?
      data = RperfPush.start(mode: :wall, aggregate: false) { sleep 1.2 }
      main = data[:raw_samples].group_by { |_, _, thread, _| thread }.transform_values { |samples| samples.sum { |_, weight, _, _| weight } }
      child = fork do
        Array.new(20) { Thread.new { Thread.pass until $done } }
        sleep 0.05 until RperfPush.stats[:lull_ns] > 1_000_000_000 && RperfPush.stats[:windows_sealed] > 1
        $done = true
        RperfPush.shutdown
        exit!(RperfPush.stats[:payloads_delivered])
      end
      Process.wait(child)
      $done = true
      storm.each(&:join)
      puts JSON.generate(flushed:, walls: main.values, duration: data[:duration_ns], windows_of_child: $?.exitstatus)
    RUBY
    expect(status).to be_success, stderr
    expect(stderr).to eq("")
    seen = JSON.parse(stdout, symbolize_names: true)
    expect(seen).to include(flushed: true, windows_of_child: be > 1)
    expect(seen[:walls].size).to be >= 21
    expect(seen[:walls].max(21)).to all(be_within(seen[:duration] * 0.01).of(seen[:duration]))
  end
end
