# frozen_string_literal: true

require "json"

# A start holds the GVL while it looks at all threads, so it asks the kernel nothing about those that sleep.
RSpec.describe "The start of a session with many threads" do
  def seen(code)
    out, err, status = run_ruby("require 'json'\nrequire 'rperf_push'\n#{code}")
    expect(status).to be_success, err
    JSON.parse(out)
  end

  it "reads no file for each of them" do
    reads = seen(<<~RUBY)
      def reads = File.read("/proc/self/io")[/syscr: (\\d+)/, 1].to_i
      RperfPush.start(mode: :cpu) { }
      threads = Array.new(300) { Thread.new { sleep } }
      Thread.pass until threads.all?(&:stop?)
      before = reads
      RperfPush.start(mode: :cpu)
      puts JSON.generate([reads - before])
    RUBY
    expect(reads.first).to be < 100
  end

  it "gives a thread that slept its timer when it runs" do
    ticks, engine = seen(<<~RUBY)
      def burn(seconds) = (till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds; nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till)
      go = Queue.new
      worker = Thread.new { go.pop; burn(0.4) }
      Thread.pass until worker.stop?
      RperfPush.configure! { |config| config.directory, config.frequency = #{tmpdir.inspect}, 250 }
      before = RperfPush.stats[:timer_ticks]
      go << 1
      worker.join
      puts JSON.generate([RperfPush.stats[:timer_ticks] - before, RperfPush.stats[:engine]])
    RUBY
    skip "no engine signal here" unless engine == "signal"
    expect(ticks).to be > 20
  end
end
