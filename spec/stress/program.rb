# frozen_string_literal: true

# Whatever moves, frees, replaces, unwinds or switches what a capture looks at, from several threads at once, while the
# profiler captures as fast as it can.
#
#   ruby -I tmp/testing/lib -I lib spec/stress/program.rb SECONDS [SEED]
#
# Ends with one line of JSON: what was done, and the profiler's stats.

require "json"
require "monitor"
require "rperf_push"
require "securerandom"
require "timeout"
require "tmpdir"
require "zlib"

class Stress
  THREADS = 4
  MANY_ACTS = 16
  MODES = %i[cpu wall alloc heap].freeze
  Oops = Class.new(StandardError)

  attr_reader :counts

  def initialize(random, folder)
    @random = random
    @folder = folder
    @counts = Hash.new(0)
    @lock = Monitor.new
    @reconfiguring = Mutex.new
    @compressing = Mutex.new
    @kept = []
    @changes = 0 # odd while there may be no profiler
    @documents = Array.new(50) { |i| JSON.generate("id" => i, "names" => Array.new(i) { |n| "name#{n}" }, "deep" => nest(i)) }
  end

  def run(seconds)
    stop = now + seconds
    Array.new(THREADS) { |i| Thread.new { live(Random.new(@random.rand(2**32) + i), stop) } }.each(&:join)
  end

  def configure(upload_interval)
    RperfPush.configure! do |config|
      config.application_name = "stress"
      config.backend = :directory
      config.directory = @folder
      config.directory_max_files = 20
      config.frequency = 1000
      config.upload_interval = upload_interval
      config.mode = MODES
      config.overhead_limit = 1
      config.engine = ENV.fetch("STRESS_ENGINE", "signal")
    end
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  ACTS = %i[allocate_deep raise_deep throw_deep fibers enumerators evaluate redefine singletons define_methods parse compress
            match churn_threads interrupt_threads look_at_objects collect compact collect_always fork_child run_program
            label count keep lock refine_blocks recurse_far tracing trace_calls flush record reconfigure].freeze
  # What takes long, or costs the others much, comes rarely.
  RARELY = { look_at_objects: 20, collect: 20, compact: 40, collect_always: 40, fork_child: 30, run_program: 40,
             recurse_far: 10, tracing: 40, trace_calls: 20, flush: 20, record: 5, reconfigure: 100, churn_threads: 3, interrupt_threads: 5 }.freeze

  # Where many programs run at once, one act may take all of the time: then it takes longer.
  def live(random, stop)
    while now < stop || @counts.size < MANY_ACTS
      act = ACTS.sample(random:)
      next unless random.rand(RARELY.fetch(act, 1)).zero?

      send(act, random)
      @lock.synchronize { @counts[act] += 1 }
    end
  end

  def nest(depth) = depth.zero? ? [] : [nest(depth - 1)]

  # What the block expects of the profiler holds, unless it was taken away meanwhile.
  def expect_while_running(what)
    before = @changes
    yield or before.odd? or @changes != before or raise what
  end

  def at_depth(depth, &) = depth.zero? ? yield : at_depth(depth - 1, &)

  def allocate_deep(random)
    at_depth(100) { 2_000.times { |i| [i.to_s, { i => +"text" }, Object.new] } }
    at_depth(random.rand(300)) { Array.new(200) { "x" * random.rand(2_000) } }
  end

  def raise_deep(random)
    50.times do
      at_depth(random.rand(100)) { raise Oops, "deep" }
    rescue Oops => e
      e.backtrace.size
    ensure
      random.rand.to_s
    end
  end

  def throw_deep(random)
    100.times { catch(:done) { at_depth(random.rand(100)) { [1, 2].each { throw :done } } } }
    100.times { [3, 1, 2].sort_by { |x| break x if x == 1; x } }
  end

  def fibers(random)
    ring = Array.new(20) do |i|
      Fiber.new do
        5.times { |n| at_depth(random.rand(50)) { Fiber.yield("#{i}.#{n}") } }
        raise Oops if i == 7
      end
    end
    while ring.any?
      ring.each { |fiber| fiber.resume rescue Oops }
      ring.select!(&:alive?)
    end
    Fiber.new { Fiber.yield }.resume # left for the GC
  end

  def enumerators(_random)
    numbers = Enumerator.new { |out| 1.step { |i| out << i } }
    50.times { numbers.next }
    numbers.lazy.map { |i| i * 2 }.select(&:even?).first(50)
    [1, 2, 3].each_entry.zip(numbers.take(3))
  end

  def evaluate(random)
    name = "evaluated#{random.rand(20)}"
    20.times do |i|
      eval("def self.#{name}(x) = x.times.map { |i| [i, #{i}] }; #{name}(20)", binding, "evaluated.rb", i)
      Class.new { class_eval("def hello = Array.new(10) { to_s }") }.new.hello
    end
  end

  Redefined = Class.new { def value = 1 }

  def redefine(random)
    object = Redefined.new
    50.times do |i|
      Redefined.class_eval { define_method(:value) { [i, random.rand] } }
      object.value
      Redefined.class_eval("def value = [#{i}].map(&:to_s)")
      object.value
    end
    Module.new { refine(Integer) { def to_s = "!" } }
  end

  def singletons(_random)
    200.times do |i|
      object = Object.new
      def object.alone(x) = [x, self].map(&:to_s)
      object.alone(i)
      object.singleton_class.undef_method(:alone)
      Module.new { def self.mine = super rescue NoMethodError }.mine
    end
  end

  def define_methods(random)
    klass = Class.new
    50.times { |i| klass.define_method(:"m#{i}") { |x| x.zero? ? caller.size : send(:"m#{(i + 1) % 50}", x - 1) } }
    klass.new.m0(random.rand(60))
    klass.send(:remove_method, :m3)
  end

  def parse(random)
    20.times { JSON.parse(@documents.sample(random:)) }
    JSON.pretty_generate(JSON.parse(@documents.last))
    Marshal.load(Marshal.dump(@documents.first(5)))
  end

  def compress(random)
    bytes = random.bytes(100_000) + @documents.join
    @compressing.synchronize { Zlib.inflate(Zlib.deflate(bytes, random.rand(1..9))) == bytes or raise "zlib" }
  end

  def match(random)
    text = "ab" * 500 + random.rand(1000).to_s
    text.gsub(/(a)(b)/) { $2 + $1 }.scan(/\d+/)
    /(?:a|ab)*c/.match?(text[0, 200])
    [10.0, 3, "x", :y].sort_by(&:to_s).hash
  end

  def churn_threads(random)
    Array.new(10) { |i| Thread.new { at_depth(i) { Array.new(random.rand(300)) { i.to_s } } } }.each(&:join)
    Thread.new { Thread.exit }.join
    Thread.new {} # joined by no one
    queue = Queue.new
    consumer = Thread.new { while (item = queue.pop) do item.to_s end }
    200.times { |i| queue << i }
    queue << nil
    consumer.join
  end

  def interrupt_threads(random)
    victims = Array.new(5) { Thread.new { Thread.current.report_on_exception = false; at_depth(30) { loop { "work".upcase; sleep(0.0001) } } } }
    sleep(random.rand / 200)
    victims.each { |victim| random.rand(2).zero? ? victim.kill : victim.raise(Oops) }
    victims.each { |victim| victim.join rescue Oops }
    Timeout.timeout(0.002) { loop { Array.new(10) } } rescue Timeout::Error
  end

  def look_at_objects(_random)
    ObjectSpace.each_object(Class).first(2_000).each(&:name)
    ObjectSpace.each_object(Module) { |mod| mod.instance_methods(false).size }
    ObjectSpace.garbage_collect if ObjectSpace.count_objects[:FREE] < 100
  end

  def collect(random) = GC.start(full_mark: random.rand(2).zero?, immediate_sweep: random.rand(2).zero?)

  def compact(_random) = GC.compact

  # For all threads, so for a moment only.
  def collect_always(_random)
    GC.stress = true
    5.times { |i| at_depth(5) { "#{i}" + [i].inspect } }
    Class.new { def x = [self] }.new.x
  ensure
    GC.stress = false
  end

  # The child is profiled as its parent is, and does a little of everything. Not while another thread compresses: Ruby's zlib moves
  # the bytes of a String without the GVL, and the GC of a child that is forked in between frees them twice (docs/safety.md).
  def fork_child(random)
    pid = @compressing.synchronize { fork_and_live(random) }
    Process.wait(pid)
    raise "a child ended with #{$?.inspect}" unless $?.success?
  end

  def fork_and_live(random)
    fork do
      GC.stress = false # whoever set it in the parent is not here to take it back
      Thread.new { at_depth(20) { Array.new(500, &:to_s) } }.join
      %i[allocate_deep raise_deep fibers evaluate collect].each { |act| send(act, random) }
      exit!(RperfPush.running? || @changes.odd? ? 0 : 1)
    end
  end

  def run_program(_random)
    system("true") or raise "system: #{$?.inspect}"
    IO.popen(["echo", "x"], &:read) == "x\n" or raise "popen"
  end

  def label(random)
    expect_while_running("labels of a new thread") do
      RperfPush.label(act: "label", number: random.rand(30)) do
        20.times { |i| RperfPush.label(inner: i) { Fiber.new { RperfPush.label(fiber: i) { [i].to_s } }.resume } }
        Thread.new { RperfPush.labels }.value.size == 2
      end
    end
    RperfPush.label(phase: random.rand(5))
    RperfPush.label(phase: nil)
  end

  def count(random)
    100.times { |i| at_depth(i) { RperfPush.sample(i, name: "counted#{i % 3}", act: random.rand(5)) } }
  end

  # Objects that live for a while, and are watched meanwhile.
  def keep(random)
    @kept = @kept.last(random.rand(2_000)) + at_depth(random.rand(50)) { Array.new(500) { |i| [i.to_s, Object.new] } }
  end

  def lock(_random)
    200.times { @lock.synchronize { @lock.synchronize { :held } } }
    @lock.synchronize { sleep 0.0005 }
  end

  def refine_blocks(_random)
    adder = ->(x) { proc { |y| x + y } }
    100.times { |i| [i, i + 1].map(&adder.(i)).inject(:+).then { |x| x.to_s.to_sym.to_proc } }
    method(:nest).unbind.bind(self).call(30)
    instance_exec(5) { |x| x.times.each_with_object([]) { |i, all| all << i } }
  end

  def recurse_far(_random) = at_depth(2_000) { Array.new(100, &:to_s) }

  def tracing(_random)
    calls = 0
    TracePoint.new(:call, :c_return) { calls += 1 }.enable(target_thread: Thread.current) { at_depth(20) { [2, 1].sort } }
    raise "no calls" if calls.zero?
  end

  def trace_calls(random)
    calls = RperfPush.trace(mode: %i[wall alloc], blocks: random.rand(2).zero?, max_nodes: 5_000) do |trace|
      fibers(random)
      trace.pause
      GC.start
      trace.resume
      churn_threads(random)
    end
    calls[:tree].report(:flat).empty? and raise "no report"
  rescue RuntimeError => e
    raise unless e.message == "calls are traced already" # by another thread
  end

  def flush(random)
    RperfPush.flush(timeout: random.rand / 5)
    RperfPush.stats.size
  end

  # A session on demand beside the continuous one, by whichever thread comes first; the others use it as it is.
  def record(random)
    mine = begin
      RperfPush.start(frequency: 1000, defer: random.rand(2).zero?, **[{ aggregate: false }, { mode: MODES }, {}].sample(random:))
    rescue RuntimeError
      false
    end
    RperfPush.profile { at_depth(random.rand(50)) { Array.new(500, &:to_s) } }
    RperfPush.snapshot(clear: random.rand(2).zero?)
  rescue RuntimeError # stopped by the one who started it
    nil
  ensure
    RperfPush.stop if mine
  end

  def reconfigure(random)
    @reconfiguring.synchronize do
      @changes += 1
      RperfPush.shutdown(timeout: random.rand) if random.rand(2).zero?
      configure(random.rand(1..3))
      @changes += 1
    end
  end
end

seconds = Float(ARGV.fetch(0))
seed = Integer(ARGV.fetch(1) { Random.new_seed % 2**32 })
warn "seed #{seed}"
GC.auto_compact = true

Dir.mktmpdir do |folder|
  stress = Stress.new(Random.new(seed), folder)
  stress.configure(1)
  stress.run(seconds)
  stats = RperfPush.stats
  RperfPush.shutdown
  puts JSON.generate("counts" => stress.counts.sort.to_h, "stats" => stats, "files" => Dir.children(folder).size)
end
