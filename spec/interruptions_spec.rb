# frozen_string_literal: true

require "json"

# Timeout, Thread#raise, Thread#kill, Ctrl-C and traps that raise, while a call waits: it ends when it is told to, not at its own
# deadline, and leaves nothing behind.
RSpec.describe "A call that is interrupted", :interpreted, :waiting, :long do
  prelude = <<~RUBY
    require "json"
    require "socket"
    require "timeout"
    Oops = Class.new(StandardError)
    Thread.report_on_exception = false
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def work(seconds = 0.002) = (till = now + seconds; nil while now < till)

    # Takes connections, and never answers.
    SERVER = TCPServer.new("127.0.0.1", 0)

    def configure
      RperfPush.configure! do |config|
        config.backend = :http
        config.server_address = "http://127.0.0.1:\#{SERVER.addr[1]}/"
        config.upload_interval = 1800
        config.upload_timeout = 600
        config.shutdown_timeout = 20
      end
    end

    trap("USR1") { raise Oops }

    # A call that is over by then waits for the interruption.
    def wait_for_it(&call)
      call.call
      sleep
    rescue Oops, Interrupt
      nil
    end

    KINDS = {
      "Timeout" => ->(after, call) { Timeout.timeout(after) { wait_for_it(&call) } rescue Timeout::Error },
      "Thread#raise" => ->(after, call) { main = Thread.current; from_a_thread(after, -> { main.raise(Oops) }, call) },
      "Thread#kill" => lambda { |after, call|
        thread = Thread.new { wait_for_it(&call) }
        sleep after
        thread.kill.join
      },
      "Ctrl-C" => ->(after, call) { from_a_thread(after, -> { Process.kill(:INT, $$) }, call) },
      "a trap that raises" => ->(after, call) { from_a_thread(after, -> { Process.kill(:USR1, $$) }, call) }
    }

    def from_a_thread(after, interruption, call)
      thread = Thread.new { sleep after; interruption.call }
      wait_for_it(&call)
      thread.join
    end

    # @return [Float] seconds from the interruption to the end of the call
    def interrupt(kind, after = 0.02, &call)
      from = now
      KINDS.fetch(kind).call(after, call)
      now - from - after
    end

    def kilobytes = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i
    def handles = Dir["/proc/self/fd/*"].size

    # When nothing runs. What threads of the profiler are still finishing ends soon.
    def native_threads
      RperfPush.shutdown(timeout: 0)
      till = now + 60
      sleep 0.01 while Dir["/proc/self/task/*/comm"].any? { |file| File.read(file).start_with?("rpp-") rescue false } && now < till
      Array.new(20) { sleep 0.01; Dir["/proc/self/task/*"].size }.min # those that were joined are about to go
    end

    # After a third of them everything has its size.
    def measure(times)
      seconds = Array.new(times / 3) { yield }
      before = [native_threads, handles, kilobytes]
      seconds += Array.new(times - (times / 3)) { yield }
      after = [native_threads, handles, kilobytes]
      threads, handles, kilobytes = after.zip(before).map { |one, other| one - other }
      { slowest: seconds.max, threads:, handles:, kilobytes: }
    end
  RUBY

  define_method(:prelude) { prelude }

  def result_of(code)
    out, err, status = run_ruby("#{prelude}at_exit { RperfPush.shutdown(timeout: 0) }\n#{code}", timeout: 180)
    expect(status).to be_success, err
    [JSON.parse(out.lines.last, symbolize_names: true), err]
  end

  # A call whose end would be some 20 s away, on a machine that may be busy.
  def expect_prompt_and_level(seen)
    expect(seen[:slowest]).to be < 10
    expect(seen).to include(handles: be <= 2, threads: be <= 1)
    expect(seen[:kilobytes]).to be < 40_000 # what leaked for each of them was 2.2 MB
  end

  ["Timeout", "Thread#raise", "Thread#kill", "Ctrl-C", "a trap that raises"].each do |kind|
    context "by #{kind}" do
      it "ends at once and leaves nothing behind: flush, shutdown" do
        seen, = result_of(<<~RUBY)
          ended = 0
          seen = measure(60) do
            configure unless RperfPush.running?
            work
            flushed = interrupt(#{kind.inspect}) { RperfPush.flush(timeout: 20) }
            raise "stopped" unless RperfPush.running?
            stopped = interrupt(#{kind.inspect}) { RperfPush.shutdown }
            ended += 1 unless RperfPush.running?
            [flushed, stopped].max
          end
          puts JSON.generate(seen.merge(ended:))
        RUBY
        expect_prompt_and_level(seen)
        expect(seen[:ended]).to be > 15 # now and then the interruption comes before it has begun
      end

      it "ends at once and leaves nothing behind: configure, which ends what ran before" do
        seen, = result_of(<<~RUBY)
          ended = 0
          seen = measure(45) do
            configure unless RperfPush.running?
            work
            took = interrupt(#{kind.inspect}) { configure }
            ended += 1 unless RperfPush.running?
            took
          end
          puts JSON.generate(seen.merge(ended:))
        RUBY
        expect_prompt_and_level(seen)
        expect(seen[:ended]).to be > 10
      end

      it "has done nothing: snapshot(clear: true), stop" do
        seen, = result_of(<<~RUBY)
          random = Random.new(1)
          lost = 0
          sum = ->(data) { data[:aggregated_samples].sum { |_, weight| weight } / 1e9 }
          seen = measure(150) do
            RperfPush.start(mode: :wall)
            data = []
            from = now
            work(0.004)
            snapped = interrupt(#{kind.inspect}, random.rand * 0.008) { loop { data << RperfPush.snapshot(clear: true) } }
            lasted = now - from
            stopped = interrupt(#{kind.inspect}, random.rand * 0.004) { data << RperfPush.stop }
            data << RperfPush.stop
            lost += 1 if data.compact.sum(&sum) < lasted * 0.9
            [snapped, stopped].max
          end
          puts JSON.generate(seen.merge(lost:))
        RUBY
        expect_prompt_and_level(seen)
        # An interruption that comes as the data is being returned takes it away: Ruby knows no other way.
        expect(seen[:lost]).to be <= 15
      end

      it "ends with its block: start and profile" do
        seen, = result_of(<<~RUBY)
          random = Random.new(1)
          seen = measure(150) do
            interrupt(#{kind.inspect}, random.rand * 0.004) { RperfPush.start { work(0.002) } }
            raise "goes on" if RperfPush::Native.recording?
            0
          end
          RperfPush.start(defer: true)
          200.times { interrupt(#{kind.inspect}, random.rand * 0.004) { RperfPush.profile(part: "a") { work(0.002) } } }
          raise "labels stay" unless RperfPush.labels.empty?
          work(0.3)
          spent = RperfPush.stop[:aggregated_samples].sum { |_, weight| weight } / 1e9
          puts JSON.generate(seen.merge(spent:))
        RUBY
        expect_prompt_and_level(seen)
        expect(seen[:spent]).to be_between(0.0001, 200 * 0.01)
      end
    end
  end

  it "hands the interruption on, be it while the stacks of this Ruby are looked at" do
    seen, = result_of(<<~RUBY)
      RperfPush::WalkCheck.singleton_class.prepend(Module.new do
        def in_methods = ($interrupt&.then { |it| ($interrupt = nil) || it.call }; super)
      end)
      main = Thread.current
      interruptions = [-> { Process.kill(:INT, $$) }, -> { Process.kill(:USR1, $$) }, -> { main.raise(Oops) }]
      thrown = interruptions.map do |interruption|
        $interrupt = interruption
        configure
      rescue Oops, Interrupt => e
        [e.class, RperfPush.running?]
      end
      configure
      puts JSON.generate(thrown:, engine: RperfPush.stats[:engine])
    RUBY
    expect(seen).to eq(thrown: [["Interrupt", false], ["Oops", false], ["Oops", false]], engine: "signal")
  end

  it "lets a later flush and shutdown do all they promise" do
    seen, err = result_of(<<~RUBY)
      configure
      30.times { work; interrupt("Timeout") { RperfPush.flush(timeout: 20) } }
      answering = Thread.new do
        loop do
          Thread.new(SERVER.accept) do |socket|
            while (head = socket.gets("\\r\\n\\r\\n"))
              socket.read(head[/content-length: (\\d+)/i, 1].to_i)
              socket << "HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n"
            end
          rescue SystemCallError
            nil
          end
        end
      end
      work
      flushed = RperfPush.flush(timeout: 20)
      work
      RperfPush.shutdown
      puts JSON.generate(flushed:, **RperfPush.stats.slice(:payloads_created, :payloads_delivered, :payloads_dropped_shutdown))
    RUBY
    expect(err).to eq("")
    expect(seen[:flushed]).to be(true)
    expect(seen[:payloads_delivered]).to eq(seen[:payloads_created])
    expect(seen[:payloads_dropped_shutdown]).to eq(0)
  end

  it "goes on waiting when nothing is thrown" do
    seen, = result_of(<<~RUBY)
      trap("USR2") { $trapped = $trapped.to_i + 1 }
      configure
      work
      Thread.new { 20.times { sleep 0.02; Process.kill(:USR2, $$) } }
      from = now
      flushed = RperfPush.flush(timeout: 1)
      waited = now - from
      from = now
      RperfPush.shutdown(timeout: 0.5)
      puts JSON.generate(flushed:, waited:, ended: now - from, trapped: $trapped)
    RUBY
    expect(seen).to include(flushed: false, waited: be_between(0.95, 30), ended: be_between(0.45, 30), trapped: be > 1)
  end

  it "loses no window when nothing is thrown" do
    out, err, status = run_ruby(<<~RUBY)
      #{prelude}
      trap("USR2") { nil }
      Thread.new { loop { Process.kill(:USR2, $$); sleep 0.0005 } }
      100.times do
        RperfPush.configure! { |config| config.directory, config.upload_interval, config.shutdown_timeout = #{tmpdir.inspect}, 3600, 60 }
        work
        RperfPush.shutdown
      end
      puts RperfPush.stats.values_at(:payloads_created, :payloads_delivered)
    RUBY
    expect(status).to be_success, err
    expect([err, out.split]).to eq(["", %w[100 100]])
  end

  it "at the exit ends it at once, and says what was lost" do
    out, err, = run_ruby(<<~RUBY)
      #{prelude}
      configure
      2.times { work; RperfPush.flush(timeout: 0.1) } # the first one is on its way
      at_exit { $from = now }
      Thread.new { sleep 0.01 until $from; sleep 0.1; Process.kill(:INT, $$); sleep }
      ObjectSpace.define_finalizer(KEPT = Object.new, proc { puts now - $from })
    RUBY
    expect(Float(out)).to be < 10
    expect(err).to match(/ended before all was sent \(it was broken off\); profiles lost: \d+/)
  end
end
