# frozen_string_literal: true

require_relative "../support/profiled_program"

# A thread without the GVL either has nothing to do, or would like to run and may not. Both are wall time, told apart.
RSpec.describe "Waiting", :measures, :interpreted do
  # The sleeper wakes up twelve times, and each time a window may end. The starved thread is ready while another one keeps the GVL in C,
  # which knows for how long. The patient one waits from before the profile's first window until after its last, where nobody else does.
  program_text = <<~RUBY
    require "burner"

    started = Thread::Queue.new
    forever = Thread::SizedQueue.new(1)
    patient = Thread.new { started << true; forever.pop }
    started.pop
    sleep 0.05

    def nap = 12.times { Burner.sleep_without_gvl(0.15); compute(0.02) }
    def compute(seconds)
      stop = Truth.thread_cpu + seconds * 1_000_000_000
      nil while Truth.thread_cpu < stop
    end

    Truth.profile do
      across = Thread.new { RperfPush.label(role: "across") { Thread::Queue.new.pop(timeout: 5) } }
      sleeper = Thread.new { RperfPush.label(role: "sleeper") { nap } }
      sleeper.join
      Truth[:slept] = Burner.spent["sleep_without_gvl"][1]
      starved = Thread.new do
        RperfPush.label(role: "starved") do
          started << true
          Truth[:began] = Truth.wall
          Burner.sleep_without_gvl(0.3)
          Truth[:ran] = Truth.wall
        end
      end
      started.pop
      sleep 0.1
      Burner.sleep_with_gvl(2.1)
      starved.join
      across.join
    end
    forever << true
    patient.join
    Truth[:slept_before_starving] = Burner.spent["sleep_without_gvl"][1] - Truth[:slept]
  RUBY

  with_each_engine(program_text, upload_interval: 0.1) do
    def times(role)
      program.samples.select { |sample| sample.labels["role"] == role }.group_by(&:state)
             .transform_values { |samples| samples.sum(&:wall) }.tap { |times| times.default = 0 }
    end

    def shares_in_windows(program)
      program.windows.map do |window|
        samples = program.in_window(window).select { |sample| sample.state == :blocked && yield(sample) }
        samples.sum(&:wall).fdiv(window.duration_nanos)
      end
    end

    it "shows sleep as blocked" do
      expect(times("sleeper")[:blocked]).to be_within(truth["slept"] * 0.05).of(truth["slept"])
    end

    it "shows a thread that is ready and may not run as waiting for the GVL" do
      starved = truth["ran"] - truth["began"] - truth["slept_before_starving"]
      expect(starved).to be > 1_000_000_000
      expect(times("starved")[:waiting]).to be_within(starved * 0.05).of(starved)
      expect(times("starved")[:blocked]).to be_within(starved * 0.05).of(truth["slept_before_starving"])
    end

    it "shows a thread that is blocked across ten windows in each of them" do
      shares = shares_in_windows(program) { |sample| sample.labels["role"] == "across" && sample.leaf == "Thread::Queue#pop" }
      full = shares.drop_while { |share| share < 0.99 }.take_while(&:positive?)
      expect(full.size).to be > 10
      expect(full[0...-1]).to all(be_within(0.01).of(1))
    end

    it "shows a thread that is blocked from before the start until after the stop" do
      shares = shares_in_windows(program) { |sample| sample.leaf == "Thread::SizedQueue#pop" }
      expect(shares).to all(be_within(0.01).of(1))
    end
  end
end
