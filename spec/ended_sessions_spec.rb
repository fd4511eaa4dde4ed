# frozen_string_literal: true

require "json"

# A session that has ended, or that waits for its next profile, costs no memory: however many threads come and go.
RSpec.describe "After a session", :interpreted do
  def seen(code)
    out, err, status = run_ruby("require 'json'\nrequire 'rperf_push'\nDir.chdir(#{tmpdir.inspect})\n#{code}")
    expect(status).to be_success, err
    JSON.parse(out)
  end

  prelude = <<~RUBY
    def configure = RperfPush.configure! { |config| config.directory, config.upload_interval = Dir.pwd, 60 }
    def known = RperfPush.stats[:threads_known]
    def burn(seconds) = (till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds; nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till)
    # A thread that has ended for Ruby may still be in its last hook.
    def gone(count) = (1_000.times.find { known <= count || !sleep(0.01) }; known)
  RUBY

  ends = {
    "a start and stop" => "RperfPush.start { }",
    "a shutdown" => "configure; RperfPush.shutdown",
    "a trace" => "RperfPush.trace { 1 + 1 }",
    "a trace within a session that ends first" => "RperfPush.start; RperfPush.trace { RperfPush.stop }",
    "a session that ends after its trace" => "RperfPush.start { RperfPush.trace { 1 + 1 } }",
    "a profile, before the next one," => "RperfPush.start(defer: true); RperfPush.profile { }",
    "a profile on demand beside a session that goes on" => "configure; RperfPush.start { }",
    "a session in which a fork happened" => "RperfPush.start { Process.wait(fork { exit!(0) }) }"
  }
  ends.each do |title, code|
    it "leaves nothing of the threads that come and go after #{title}" do
      expect(seen(<<~RUBY)).to eq([1])
        #{prelude}#{code}
        2_000.times { Thread.new { }.join }
        puts JSON.generate([gone(1)])
      RUBY
    end
  end

  it "leaves nothing of new threads in a forked child without a session" do
    expect(seen(<<~RUBY)).to eq([1])
      #{prelude}reader, writer = IO.pipe
      RperfPush.start
      busy = Array.new(5) { Thread.new { sleep } }
      pid = fork do
        2_000.times { Thread.new { }.join }
        writer.puts JSON.generate([gone(1)])
        exit!(0)
      end
      Process.wait(pid)
      puts reader.gets
    RUBY
  end

  it "makes no record of a new thread, and frees that of an old one at the thread's end" do
    expect(seen(<<~RUBY)).to eq([1, 6, 6, 6, 1])
      #{prelude}go_on = Queue.new
      RperfPush.start { }
      seen = [known]
      old = Array.new(5) { Thread.new { go_on.pop } }
      RperfPush.start { seen << known }
      seen << known
      fresh = Array.new(10) { Thread.new { go_on.pop } }
      Thread.pass until fresh.all?(&:stop?)
      seen << known
      15.times { go_on << 1 }
      (old + fresh).each(&:join)
      puts JSON.generate(seen << gone(1))
    RUBY
  end

  [false, true].each do |deferred|
    it "profiles threads that began in between in the next session#{", which is deferred" if deferred}" do
      expect(seen(<<~RUBY)).to eq([3, 3])
        #{prelude}
        options = { mode: :cpu, frequency: 250, defer: #{deferred} }
        counts = Array.new(2) do
          go, done = Queue.new, Queue.new
          RperfPush.start(**options)
          RperfPush.profile { } if #{deferred}
          RperfPush.stop
          workers = Array.new(3) { Thread.new { go.pop; burn(0.2); done << 1 } }
          Thread.pass until workers.all?(&:stop?)
          RperfPush.start(**options)
          3.times { go << 1 }
          #{deferred ? "RperfPush.profile { 3.times { done.pop } }" : "3.times { done.pop }"}
          data = RperfPush.stop
          workers.each(&:join)
          burnt = data[:aggregated_samples].select { |stack,| stack.any? { |_, name| name.end_with?("burn") } }
          burnt.map { |one| one[2] }.uniq.count(&:positive?) # 0: time of no particular thread
        end
        puts JSON.generate(counts)
      RUBY
    end
  end

  it "knows each thread of the next session, however many begin meanwhile" do
    expect(seen(<<~RUBY)).to eq([0])
      #{prelude}stop = false
      breeder = Thread.new { Thread.new { Thread.pass }.join until stop }
      300.times { RperfPush.start(mode: :wall) { Thread.pass } }
      stop = true
      breeder.join
      strange = 0
      RperfPush.start { strange = known - Thread.list.size }
      puts JSON.generate([strange])
    RUBY
  end

  it "counts the calls of threads that began between two traces" do
    expect(seen(<<~RUBY)).to eq([[3, 3]])
      #{prelude}def called = 1
      counts = Array.new(2) do
        go = Queue.new
        RperfPush.trace { 1 + 1 }
        workers = Array.new(3) { Thread.new { go.pop; called } }
        Thread.pass until workers.all?(&:stop?)
        data = RperfPush.trace { 3.times { go << 1 }; workers.each(&:join) }
        data[:tree].methods.find { |method| method.label.end_with?("called") }.called
      end
      puts JSON.generate([counts])
    RUBY
  end

  describe "labels" do
    it "are gone, of its thread and of those that begin later" do
      expect(seen(<<~RUBY)).to eq([{ "request" => "abc" }, {}, {}, {}, {}])
        RperfPush.start
        RperfPush.label(request: "abc")
        seen = [RperfPush.labels]
        RperfPush.stop
        seen << RperfPush.labels
        RperfPush.label(request: nil)
        seen << Thread.new { RperfPush.labels }.value
        RperfPush.start { seen << RperfPush.labels << Thread.new { RperfPush.labels }.value }
        puts JSON.generate(seen)
      RUBY
    end

    it "ends the labels of all fibers and threads, and the next session's samples have none of them" do
      expect(seen(<<~RUBY)).to eq([[{ "a" => "1" }, { "a" => "1", "b" => "2" }, { "c" => "3" }], [{}, {}, {}], [{}]])
        #{prelude}
        ask, answer = Queue.new, Queue.new
        RperfPush.start
        RperfPush.label(a: 1)
        fiber = Fiber.new { RperfPush.label(b: 2); loop { Fiber.yield(RperfPush.labels) } }
        fiber.resume
        thread = Thread.new { RperfPush.label(a: nil, c: 3); answer << 1; loop { ask.pop; burn(0.2); answer << RperfPush.labels } }
        answer.pop
        look = -> { [RperfPush.labels, fiber.resume, (ask << 1; answer.pop)] }
        before = look.call
        RperfPush.stop
        data = RperfPush.start(mode: :cpu, frequency: 250) { $after = look.call; RperfPush.label(d: 4) { } }
        labelled = data[:label_sets].map { |set| set.transform_keys(&:to_s).slice("a", "b", "c") }.uniq
        puts JSON.generate([before, $after, labelled])
      RUBY
    end

    it "come back neither with a block that spans its end, nor into one that spans its start" do
      expect(seen(<<~RUBY)).to eq([{}, { "b" => "2" }, {}, {}, { "d" => "4" }, {}])
        seen = []
        RperfPush.start
        RperfPush.label(z: 26)
        RperfPush.label(a: 1) do
          RperfPush.stop
          seen << RperfPush.labels
          RperfPush.start
          RperfPush.label(b: 2)
          seen << RperfPush.labels
        end
        seen << RperfPush.labels
        RperfPush.stop
        RperfPush.label(c: 3) do
          RperfPush.start
          seen << RperfPush.labels
          RperfPush.label(d: 4) { seen << RperfPush.labels }
          RperfPush.stop
        end
        puts JSON.generate(seen << RperfPush.labels)
      RUBY
    end

    it "stay while another session goes on" do
      expect(seen(<<~RUBY)).to eq([{ "a" => "1" }, { "a" => "1" }, {}])
        #{prelude}configure
        RperfPush.label(a: 1)
        RperfPush.start { }
        seen = [RperfPush.labels]
        Process.wait(fork { File.write("child", JSON.generate(RperfPush.labels)); exit!(0) })
        seen << JSON.parse(File.read("child"))
        RperfPush.shutdown
        puts JSON.generate(seen << RperfPush.labels)
      RUBY
    end

    it "are gone in a forked child in which no session goes on, and in that child's own session" do
      expect(seen(<<~RUBY)).to eq([{}, {}])
        RperfPush.start(inherit: false)
        RperfPush.label(a: 1)
        reader, writer = IO.pipe
        Process.wait(fork { writer.puts JSON.generate([RperfPush.labels, RperfPush.start && RperfPush.labels]); exit!(0) })
        puts reader.gets
      RUBY
    end
  end
end
