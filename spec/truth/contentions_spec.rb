# frozen_string_literal: true

require "json"
require_relative "../support/helpers/ruby_program"

# One wait counts one, and taking a GVL that nobody has counts nothing. The programs know how often their threads waited.
RSpec.describe "Contentions", :interpreted do
  include RubyProgram

  counting = <<~RUBY
    require "json"

    # { "leaf state" => number }, of what counted
    def counted(data)
      rows = data[:aggregated_samples].zip(data[:values][:contentions])
      rows.each_with_object(Hash.new(0)) do |((stack, _weight, _thread, labels), count), sums|
        sums[stack.first.last + " " + data[:label_sets][labels][:"%GVL"].to_s] += count if count.positive?
      end
    end

    def merged(*datas) = datas.map { |data| counted(data) }.reduce { |all, one| all.merge(one) { |_, a, b| a + b } }
    def session(frequency: 1000) = RperfPush.start(mode: [:wall, :contention], frequency:) { yield }
  RUBY

  define_method(:counts) do |code|
    out, err, status = run_ruby("#{counting}#{code}\nputs JSON.generate(all)")
    expect(status).to be_success, err
    JSON.parse(out)
  end

  lock_once = <<~RUBY
    def wait_once(seconds)
      lock = Mutex.new.lock
      waiter = Thread.new { lock.synchronize { } }
      sleep 0.001 until waiter.stop?
      sleep seconds
      lock.unlock
      waiter.join
    end
  RUBY

  it "are one for each wait of a period or longer, in whichever windows it lies" do
    all = counts(<<~RUBY)
      #{lock_once}
      RperfPush.start(mode: [:wall, :contention], frequency: 1000)
      snapshots = [nil]
      looker = Thread.new { 60.times { sleep 0.017; snapshots << RperfPush.snapshot(clear: true) } }
      12.times { wait_once(0.08) }
      looker.join
      all = merged(*snapshots.compact, RperfPush.stop)
    RUBY
    expect(all["Thread::Mutex#synchronize blocked"]).to eq(12)
    expect(all["Thread::Mutex#synchronize wait"]).to be_nil
  end

  it "are none where a thread takes the GVL that nobody has" do
    expect(counts("all = counted(session { 300.times { sleep 0.001 } })")).to eq({})
  end

  it "are one for each wait for a GVL that another thread has" do
    all = counts(<<~RUBY)
      running = Thread::Queue.new
      data = session do
        stop = false
        hog = Thread.new { running << true; nil until stop }
        running.pop
        Thread.new { 20.times { sleep 0.001 } }.join
        stop = true
        hog.join
      end
      all = counted(data)
    RUBY
    expect(all["Kernel#sleep wait"]).to eq(20)
  end

  # It wakes up by itself, as after a sleep; but it waited for an item.
  it "are one for a wait for an item and the GVL, where it was blocked" do
    all = counts(<<~RUBY)
      running, empty = Thread::Queue.new, Thread::Queue.new
      data = session do
        stop = false
        hog = Thread.new { running << true; nil until stop }
        running.pop
        Thread.new { 20.times { empty.pop(timeout: 0.005) } }.join
        stop = true
        hog.join
      end
      all = counted(data)
    RUBY
    expect(all).to include("Thread::Queue#pop blocked" => be >= 20)
    expect(all["Thread::Queue#pop wait"]).to be_nil
  end
end
