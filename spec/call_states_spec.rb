# frozen_string_literal: true

require "rperf_push"

# RperfPush.trace: what calls do while they do not run.
RSpec.describe "States of traced calls" do
  tenth = 100_000_000
  states = %i[blocked waiting gc_marking gc_sweeping suspended]

  # Each moment belongs to somebody, and is of one kind.
  def traced(...)
    tree = RperfPush.trace(...)[:tree]
    expect(tree.nodes.sum(&:self) + tree.overhead_ns).to eq(tree.duration_ns)
    (tree.nodes + tree.methods).each do |one|
      parts = [one.running, one.blocked, one.waiting, one.gc_marking, one.gc_sweeping, one.suspended]
      expect(parts).to all(be >= 0)
      expect(parts.sum).to eq(one.self + one.wait)
    end
    tree
  end

  def method_of(tree, label) = tree.find(label).first || raise("no #{label} in #{tree.methods.map(&:label)}")
  def nodes_below(root) = [root, *root.children.flat_map { |child| nodes_below(child) }]
  def of_thread(tree, name) = nodes_below(tree.threads.find { |thread| thread.name == name && !thread.fibers? }.root)

  # Does something a tenth of a second after the calling thread has begun to wait.
  def later(waiter = Thread.current)
    Thread.new do
      sleep 0.001 until waiter.stop?
      sleep 0.1
      yield
    end
  end

  it "are blocked in sleep, queues, locks and I/O, on whatever thread" do
    tree = traced do
      queue = Queue.new
      mutex = Mutex.new.lock
      read, write = IO.pipe
      never, = IO.pipe
      sleep 0.1
      later { queue << 1 }
      queue.pop
      Thread.new { Thread.current.name = "locked out" and mutex.lock }.tap { |other| later(other) { nil }.join && mutex.unlock && other.join }
      later { write << "a" }
      read.readpartial(1)
      later { write << "b" }
      IO.select([read, never])
      Array.new(2) { |i| Thread.new { Thread.current.name = "sleeper #{i}" and sleep 0.1 } }.each(&:join)
    end
    main = of_thread(tree, "main").group_by { |node| node.target&.label }.transform_values { |nodes| nodes.sum(&:blocked) }
    expect(main.values_at("Kernel#sleep", "Thread::Queue#pop", "IO#readpartial", "IO.select")).to all(be >= tenth)
    others = ["locked out", "sleeper 0", "sleeper 1"].map { |name| of_thread(tree, name).sum(&:blocked) }
    expect(others).to all(be >= tenth)
    expect(tree.methods.sum(&:suspended)).to eq(0)
  end

  it "wait for the GVL while another thread has it" do
    burnt = nil
    tree = traced do
      other = Thread.new do
        Thread.current.name = "busy"
        nil while (burnt = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)) < 3 * tenth
        burnt = true
      end
      Thread.pass until burnt == true
      other.join
    end
    expect(of_thread(tree, "main").sum(&:waiting)).to be >= 2.5 * tenth
    expect(method_of(tree, "Thread.pass").waiting).to be_positive
    expect(of_thread(tree, "busy").sum(&:running)).to be_positive
  end

  it "mark and sweep in the call that starts the GC" do
    tree = traced { 3.times { GC.start } }
    start = method_of(tree, "GC.start")
    expect([start.gc_marking, start.gc_sweeping]).to all(be_positive)
    expect(start.gc).to eq(start.gc_marking + start.gc_sweeping)
    expect(tree.states).to include(:gc)
  end

  it "are suspended while another fiber of the thread runs, which has its own" do
    tree = traced do
      fiber = Fiber.new { Fiber.yield || sleep(0.1) }
      fiber.resume
      sleep 0.1
      fiber.resume
    end
    fibers = nodes_below(tree.threads.find(&:fibers?).root).to_h { |node| [node.target&.label, node] }
    expect(fibers["Fiber.yield"].suspended).to be >= tenth
    expect(fibers["Kernel#sleep"].blocked).to be >= tenth
    expect(method_of(tree, "Fiber#resume").suspended).to be >= tenth
    main = of_thread(tree, "main").find { |node| node.target&.label == "Kernel#sleep" }
    expect(main.blocked).to be >= tenth
  end

  it "are of what was under way when the tracing began, and until it ends" do
    held = Queue.new
    other = Thread.new { Thread.current.name = "held" and held.pop }
    sleep 0.001 until other.stop?
    tree = traced { sleep 0.1 }
    held << 1
    other.join
    expect(of_thread(tree, "held").sum(&:blocked)).to be >= tenth
    expect(of_thread(tree, "held").sum(&:running)).to eq(0)
  end

  it "do not last while the tracing pauses" do
    tree = traced do |trace|
      other = Thread.new { Thread.current.name = "on and off" and sleep }
      sleep 0.001 until other.stop?
      trace.pause
      sleep 0.5
      trace.resume
      other.run
      other.join
    end
    blocked = of_thread(tree, "on and off").sum(&:blocked)
    expect(blocked).to be_between(1, tree.duration_ns)
    expect(of_thread(tree, "main").sum(&:blocked)).to be <= tree.duration_ns
  end

  it "are their caller's where a method is not shown" do
    tree = traced(except: "Kernel#sleep") { [1].each { sleep 0.1 } }
    expect(method_of(tree, "Array#each").blocked).to be >= tenth
    expect(method_of(tree, "Array#each").callers.sum(&:blocked)).to eq(method_of(tree, "Array#each").blocked)
  end

  it "are those of a program that is sampled, too" do
    RperfPush.start(frequency: 100, mode: :wall)
    tree = traced { sleep 0.1 }
    samples = RperfPush.stop[:aggregated_samples]
    expect(method_of(tree, "Kernel#sleep").blocked).to be >= tenth
    expect(samples.sum { |sample| sample[1] }).to be >= tenth
  end

  it "are followed in a forked child that traces itself, and in the parent still" do
    read, write = IO.pipe
    tree = traced do
      pid = fork do
        sleep 0.01
        write.puts RperfPush.trace { sleep 0.1 }[:tree].find("Kernel#sleep").first.blocked
        exit!(0)
      end
      Process.wait(pid)
      sleep 0.1
    end
    expect(read.gets.to_i).to be >= tenth
    expect(method_of(tree, "Kernel#sleep").blocked).to be >= tenth
  end

  it "have columns, values and facts in files, and columns in reports only where there are any" do
    data = RperfPush.trace { sleep 0.1 }
    Dir.chdir(tmpdir) do
      %w[a.json.gz a.pb.gz].each { |name| RperfPush.save(name, data) }
      read = RperfPush.load("a.json.gz")[:tree]
      states.each { |state| expect(read.nodes.map(&state)).to eq(data[:tree].nodes.map(&state)) }
      states.each { |state| expect(read.methods.map(&state)).to eq(data[:tree].methods.map(&state)) }
      pprof = RperfPush.load("a.pb.gz")
      at = pprof[:aggregated_samples].index { |frames, _| frames.first.last == "Kernel#sleep" }
      expect(pprof[:values][:blocked][at]).to eq(data[:tree].find("Kernel#sleep").first.blocked)
      expect(pprof[:units].values_at(:blocked, :waiting, :gc)).to all(satisfy { |unit| [nil, "nanoseconds"].include?(unit) })
    end
    %i[flat graph tree].each { |name| expect(data[:tree].report(name)).to match(/wait ms +blocked ms.* calls +method$/) }
    expect(data[:tree].report(:flat)).to match(/^(?: +\d+\.\d+){3} +1\d\d\.\d+ .* 1   Kernel#sleep$/)
    out, err, = run_ruby("require 'rperf_push'; GC.disable; tree = RperfPush.trace { 1.to_s }[:tree]; print tree.states.inspect, tree.report(:flat)[/^.*self ms.*$/]")
    expect([out, err]).to eq(["[]      self ms      total ms       wait ms        calls   method", ""])
  end
end
