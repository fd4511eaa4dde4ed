# frozen_string_literal: true

require "json"
require "rperf_push"

# mode: :contention: how often threads waited for each other, and how long.
RSpec.describe "Contention", :interpreted do
  prelude = <<~RUBY
    require "json"
    require "monitor"
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def delays(data, state = nil)
      column, counts = data[:mode] == :contention ? [data[:aggregated_samples].map { _1[1] }, nil] : data[:values].values_at(:delay, :contentions)
      data[:aggregated_samples].each_with_index.with_object(Hash.new { |all, name| all[name] = [0, 0] }) do |(sample, at), all|
        next if state && data[:label_sets][sample[3]][:"%GVL"] != state
        name = sample[0].map(&:last).find { |label| label.start_with?("Object#") && label != "Object#now" } or next
        all[name][0] += counts[at]
        all[name][1] += column[at]
      end
    end
  RUBY

  define_method(:result_of) do |code|
    stdout, stderr, status = run_ruby("#{prelude}puts JSON.generate(begin\n#{code}\nend)")
    expect(status).to be_success, stderr
    JSON.parse(stdout, symbolize_names: true)
  end

  it "is each wait for a lock, a queue or a condition, and no other wait" do
    data = result_of(<<~RUBY)
      def mutex(lock) = lock.synchronize {}
      def lock(lock) = lock.lock.unlock
      def monitor(lock) = lock.synchronize {}
      def enter(lock) = [lock.enter, lock.exit]
      def pop(queue) = queue.pop
      def push(queue) = queue.push(1)
      def condition(lock, condition) = lock.synchronize { condition.wait(lock) }
      def asleep = sleep(0.05)
      def asleep_with(lock) = lock.synchronize { lock.sleep(0.05) }
      def joins(thread) = thread.join
      def reads(io) = io.read(1)
      def waits(thread)
        Thread.pass until thread.stop?
        sleep 0.05
        yield
        thread.join
      end
      def held(lock, method)
        lock.enter if lock.is_a?(Monitor)
        lock.lock if lock.is_a?(Mutex)
        waits(Thread.new { send(method, lock) }) { lock.is_a?(Monitor) ? lock.exit : lock.unlock }
      end
      data = RperfPush.start(mode: %i[wall contention]) do
        held(Mutex.new, :mutex)
        held(Mutex.new, :lock)
        held(Monitor.new, :monitor)
        held(Monitor.new, :enter)
        queue = Queue.new
        waits(Thread.new { pop(queue) }) { queue << 1 }
        full = SizedQueue.new(1).push(1)
        waits(Thread.new { push(full) }) { full.pop }
        mutex, condition = Mutex.new, ConditionVariable.new
        waits(Thread.new { condition(mutex, condition) }) { mutex.synchronize { condition.signal } }
        asleep
        asleep_with(mutex)
        main = Thread.current
        joins(Thread.new { Thread.pass until main.stop?; sleep 0.05 })
        reader, writer = IO.pipe
        waits(Thread.new { reads(reader) }) { writer << "x" }
      end
      delays(data, "blocked")
    RUBY
    waits, others = data.partition { |_, (_, delay)| delay.positive? }.map(&:to_h)
    expect(waits.keys).to match_array(%w[mutex lock monitor enter pop push condition].map { |name| :"Object##{name}" })
    expect(waits.values.map(&:last)).to all(be > 40_000_000)
    expect(waits.values.map(&:first)).to eq([1] * 7)
    expect(others.keys).to include(:"Object#asleep", :"Object#asleep_with", :"Object#joins", :"Object#reads")
    expect(others.values.map(&:first)).to all(eq(0))
  end

  # The sleeps between the waits are sampled: some 30 of a millisecond.
  it "is as long as the threads that wait say", :measures do
    data = result_of(<<~RUBY)
      lock, waited = Mutex.new, 0
      def contend(lock) = lock.synchronize {}
      data = RperfPush.start(mode: %i[wall contention], frequency: 1000) do
        holder = Thread.new { 30.times { lock.synchronize { sleep 0.002 + rand / 50 }; sleep 0.001 } }
        while holder.alive?
          from = now
          contend(lock)
          waited += now - from
          sleep 0.0005
        end
      end
      [waited, delays(data)["Object#contend"][1] / 1e9]
    RUBY
    waited, delay = data
    expect(delay).to be_within(waited * 0.1).of(waited)
  end

  # Each of the two runs for 2 ms while the other one waits. What they wait for at their starts is short, so that it is sampled.
  it "is also the wait for the GVL" do
    data = result_of(<<~RUBY)
      waited, ready = [0, 0], 0
      def turn(till) = (nil while now < till)
      def yields = Thread.pass
      data = RperfPush.start(mode: %i[wall contention], frequency: 1000) do
        others = Array.new(2) do |i|
          Thread.new do
            ready += 1
            Thread.pass until ready == 2
            100.times do
              turn(now + 0.002)
              from = now
              yields
              waited[i] += now - from
            end
          end
        end
        others.each(&:join)
      end
      [waited.sum, *delays(data, "wait")["Object#yields"], delays(data, "blocked")["Object#yields"]]
    RUBY
    waited, turns, delay, blocked = data
    expect(delay / 1e9).to be_between(0.3, waited * 1.1)
    expect(turns).to be_between(150, 250)
    expect(blocked).to eq([0, 0])
  end

  it "may be all that is measured" do
    data = result_of("q = Queue.new; RperfPush.start(mode: :contention) { Thread.new { q.pop }.tap { |t| Thread.pass until t.stop?; sleep 0.05; q << 1 }.join }")
    expect(data).to include(mode: "contention", units: { contentions: "count" })
    expect(RperfPush::Values.names(data)).to eq(%i[contentions delay])
    blocked = data[:label_sets].index({ "%GVL": "blocked" })
    pops = data[:aggregated_samples].select { |frames, _, _, set| frames.first.last == "Thread::Queue#pop" && set == blocked }
    expect(pops.sum { |sample| sample[1] }).to eq(1)
    expect(data[:values][:delay].sum).to be > 40_000_000
  end
end
