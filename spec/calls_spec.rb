# frozen_string_literal: true

require "json"
require "rperf_push"

# RperfPush.trace: every call, exactly.
RSpec.describe "Tracing calls" do
  random_calls = File.expand_path("support/random_calls.rb", __dir__)

  def traced(...) = RperfPush.trace(...)[:tree]

  # What methods did, by label.
  def calls_of(tree) = tree.methods.to_h { |method| [method.label, method.called] }

  # A program whose result is the last line of what it prints.
  def result_of(code, **)
    out, err, status = run_ruby("require 'json'\n#{code}", **)
    expect([status.exitstatus, err]).to eq([0, ""])
    JSON.parse(out.lines.last, symbolize_names: true)
  end

  shop = Class.new do
    def self.name = "Shop"
    def process = validate && save
    def save = validate && write
    def validate = true
    def write = true
  end

  # The page on the architecture of ruby-prof has this program as its example.
  it "makes the tree that users of ruby-prof know" do
    Object.const_set(:TracedShop, shop)
    tree = traced { TracedShop.new.process }
    process = tree.find("TracedShop#process").first.call_trees.first
    labels = ->(node) { node.children.map { |child| child.target.label.delete_prefix("TracedShop#") }.sort }
    expect(labels[process]).to eq(%w[save validate])
    save = process.children.find { |node| node.target.label == "TracedShop#save" }
    expect(labels[save]).to eq(%w[validate write])
    validate = save.children.find { |node| node.target.label == "TracedShop#validate" }.target
    expect([validate.called, validate.call_trees.size, validate.recursive?]).to eq([2, 2, false])
    expect(validate.callers.map { |caller| [caller.target.label, caller.called] }.sort).to eq([["TracedShop#process", 1], ["TracedShop#save", 1]])
    expect(process.target.callees.map { |callee| callee.target.label }.sort).to eq(%w[TracedShop#save TracedShop#validate])
    expect(save.parent).to be(process)
  ensure
    Object.send(:remove_const, :TracedShop)
  end

  it "counts the total of a recursive method at its outermost call" do
    tree = traced do
      def simple(n)
        sleep 0.1
        return if n == 0

        simple(n - 1)
      end
      simple(2)
    end
    simple = tree.find(/[#.]simple\z/).first
    sleeping = tree.find("Kernel#sleep").first
    expect([simple.called, simple.recursive?, sleeping.called, sleeping.recursive?]).to eq([3, true, 3, false])
    expect(simple.total).to be_between(300_000_000, tree.duration_ns)
    nested = simple.call_trees.sort_by(&:id)
    expect(nested.map(&:called)).to eq([1, 1, 1])
    expect(nested.each_cons(2)).to all(satisfy { |outer, inner| inner.parent.equal?(outer) && outer.total >= inner.total + 100_000_000 })
    expect(simple.callees.map { |callee| [callee.target.label, callee.called] }).to include([simple.label, 2], ["Kernel#sleep", 3])
    expect(simple.callees.find { |callee| callee.target == simple }.total).to eq(nested[1].total)
  end

  it "tells methods of one body apart: made by one block, aliases, in several classes" do
    made = Class.new do
      def self.name = "Made"
      body = proc { |n| n.zero? ? 0 : public_send(:one, n - 1) }
      define_method(:one, &body)
      define_method(:two, &body)
      def plain = 1
      alias_method :also, :plain
      alias_method :size, :hash
    end
    Object.const_set(:TracedMade, made)
    bodies = Array.new(2) { |i| Object.const_set("TracedBody#{i}", Class.new { def common = 1 }) }
    tree = traced do
      one = made.new
      one.two(2)
      3.times { one.plain }
      2.times { one.also }
      one.size
      bodies.each_with_index { |body, i| (i + 1).times { body.new.common } }
    end
    counts = calls_of(tree)
    expect(counts.slice("TracedMade#one", "TracedMade#two", "TracedMade#plain", "TracedMade#also", "Kernel#size"))
      .to eq("TracedMade#one" => 2, "TracedMade#two" => 1, "TracedMade#plain" => 3, "TracedMade#also" => 2, "Kernel#size" => 1)
    expect(counts.slice("TracedBody0#common", "TracedBody1#common")).to eq("TracedBody0#common" => 1, "TracedBody1#common" => 2)
  ensure
    %i[TracedMade TracedBody0 TracedBody1].each { |name| Object.send(:remove_const, name) }
  end

  it "takes a module's method for one, in whatever class it runs, and all methods of one object's own class" do
    words = Module.new { def shout = upcase }
    Object.const_set(:TracedWords, words)
    strings = Array.new(3) { "x".dup.extend(words) } << Class.new(String) { include TracedWords }.new("y")
    tree = traced { strings.each(&:shout) }
    expect(calls_of(tree)["TracedWords#shout"]).to eq(4)
  ensure
    Object.send(:remove_const, :TracedWords)
  end

  it "gives every nanosecond to somebody: own times and what tracing took are the time that passed" do
    tree = traced { 300.times { |i| [i, 1].max.to_s } }
    expect(tree.nodes.sum(&:self) + tree.overhead_ns).to eq(tree.duration_ns)
    tree.nodes.each { |node| expect(node.total).to eq(node.self + node.wait + node.children.sum(&:total)) }
    expect(tree.overhead_ns).to be_positive
  end

  it "counts the same as a TracePoint, in a hundred programs that call in every way" do
    found = result_of(<<~RUBY, timeout: 240)
      require #{random_calls.inspect}
      label = lambda do |tp|
        owner = tp.defined_class
        owner.singleton_class? ? "\#{owner.attached_object.is_a?(Module) ? owner.attached_object : owner.attached_object.class}.\#{tp.callee_id}" : "\#{owner}#\#{tp.callee_id}"
      end
      plain = ->(text) { text.gsub(/#<(?:Class:)?#?<?([\\w:]+):0x\\h+>+/) { $1 } }
      wrong = (1..100).filter_map do |seed|
        program = eval(RandomCalls.new(seed).text, TOPLEVEL_BINDING.dup, "random_\#{seed}.rb")
        program.new.m0(2)
        expected = Hash.new(0)
        counter = TracePoint.new(:call, :c_call) { |tp| expected[label.(tp)] += 1 }
        counter.enable(target_thread: nil)
        program.new.m0(2)
        counter.disable
        expected.delete("TracePoint#disable")
        counted = RperfPush.trace { program.new.m0(2) }[:tree].methods.each_with_object(Hash.new(0)) { |method, sums| sums[plain.(method.label)] += method.called }
        counted.delete_if { |_, called| called.zero? }
        different = (expected.keys | counted.keys).filter_map { |key| [key, expected[key], counted[key]] if expected[key] != counted[key] }
        [seed, different] if different.any?
      end
      puts JSON.generate({ wrong: wrong.first(3), all: wrong.size })
    RUBY
    expect(found).to eq(wrong: [], all: 0)
  end

  # With its option for tail calls, Ruby runs the method in the place of its caller.
  it "counts tail calls, which replace their caller" do
    found = result_of(<<~RUBY)
      RubyVM::InstructionSequence.compile(<<~CODE, __FILE__, __FILE__, 1, tailcall_optimization: true, trace_instruction: false).eval
        class Tail
          def down(n) = n.zero? ? done : down(n - 1)
          def done = self.class.name.size
          def ping(n) = n.zero? ? done : pong(n - 1)
          def pong(n) = ping(n)
          def run = [down(5_000), ping(300), 3.times.map { down(2) }]
        end
      CODE
      expected = Hash.new(0)
      counter = TracePoint.new(:call) { |tp| expected["\#{tp.defined_class}#\#{tp.callee_id}"] += 1 }
      counter.enable { Tail.new.run }
      tree = RperfPush.trace { Tail.new.run }[:tree]
      counted = tree.methods.to_h { |method| [method.label, method.called] }.select { |label, _| label.start_with?("Tail#") }
      depth = tree.find("Tail#done").first.call_trees.map { |node| node.path.size }.max
      down = tree.find("Tail#down").first
      puts JSON.generate({ same: counted == expected.select { |label, _| label.start_with?("Tail#") }, counted: counted["Tail#down"], depth:, recursive: down.recursive? })
    RUBY
    expect(found).to include(same: true, counted: 5010, depth: be < 20, recursive: false)
  end

  it "finds its way after an exception, a throw and an overflow of the stack" do
    deep = Class.new do
      def endless(n) = endless(n + 1) + 1

      def overflow
        endless(0)
      rescue SystemStackError
        after
      end

      def after = 1
    end.new
    tree = traced do
      deep.overflow
      catch(:out) { [1].each { throw :out } }
      deep.after
    end
    after = tree.find(/#after\z/).first
    expect(after.callers.map { |caller| caller.target&.label.to_s[/\w+\z|>\z/] }).to include("overflow")
    expect(after.callers.map { |caller| caller.target&.label.to_s }).not_to include(/endless|each|catch/)
    expect(tree.find(/#endless\z/).first.called).to be > 1000
  end

  it "has a root for each thread and for a thread's fibers, with what has not ended" do
    fiber = nil
    tree = traced do
      Thread.new { Thread.current.name = "worker"; 10.times { "a".upcase } }.join
      fiber = Fiber.new { "b".downcase; Fiber.yield; "c".swapcase }
      fiber.resume
    end
    main = tree.threads.first
    worker = tree.threads.find { |thread| thread.name == "worker" }
    fibers = tree.threads.find(&:fibers?)
    below = ->(root) { ([root] + root.children).flat_map { |node| node == root ? [] : [node.target.label, *below[node]] } }
    expect(main.name).to eq("main")
    expect(below[worker.root]).to include("String#upcase")
    expect(below[fibers.root]).to include("String#downcase", "Fiber.yield")
    expect(below[fibers.root]).not_to include("String#swapcase")
    expect([fibers.name, fibers.root.called]).to eq(["main", 1])
    fiber.resume
  end

  it "knows a thread's own stack from those of its fibers, whichever it sees first" do
    in_fiber = Fiber.new { "a".upcase && Fiber.yield(traced { "b".downcase && Fiber.yield }) }
    held = Queue.new
    ready = Queue.new
    other = Thread.new do
      Thread.current.name = "other"
      Fiber.new { ready.push(true) && held.pop && "c".swapcase }.resume
      "d".capitalize
    end
    ready.pop
    tree = traced do
      Fiber.new { "a".upcase }.resume
      held << true
      other.join
    end
    labels = ->(node) { [*(node.target && node.target.label), *node.children.flat_map(&labels)] }
    below = tree.threads.to_h { |thread| [[thread.name, thread.fibers?], labels[thread.root]] }
    expect(below[["other", true]]).to include("String#swapcase")
    expect(below[["other", false]]).to include("String#capitalize")
    expect(below[["other", false]]).not_to include("String#swapcase")
    expect(below[["main", true]]).to include("String#upcase")
    expect(in_fiber).to be_alive
  end

  it "counts the wait of a fiber in which no method is under way that is traced" do
    tree = traced(c_methods: false) do
      fiber = Fiber.new { Fiber.yield || Fiber.yield(1) }
      fiber.resume
      sleep 0.1
      fiber.resume
      sleep 0.1
    end
    fibers = tree.threads.find(&:fibers?).root
    expect(fibers.total - fibers.self).to be_between(200_000_000, tree.duration_ns)
    ended = traced(c_methods: false) { Fiber.new { nil }.resume || sleep(0.1) }
    expect(ended.threads.find(&:fibers?).root.wait).to be < 100_000_000
  end

  it "names methods of blocks that are under way as those that are called" do
    made = Class.new do
      define_method(:outer) { |depth, &block| depth.zero? ? block.call : outer(depth - 1, &block) }
    end
    Object.const_set(:TracedOuter, made)
    tree = made.new.outer(1) { RperfPush.trace { made.new.outer(1) { nil } } }[:tree]
    expect(tree.methods.map(&:label).grep(/outer/)).to eq(["TracedOuter#outer"])
    outer = tree.find("TracedOuter#outer").first
    expect([outer.called, outer.call_trees.map(&:called).sort]).to eq([2, [0, 0, 1, 1]])
  ensure
    Object.send(:remove_const, :TracedOuter)
  end

  it "has what is under way as open calls, which are not counted" do
    def outer = RperfPush.trace { 3.times { "x".upcase } }
    tree = outer[:tree]
    open_call = tree.find(/[#.]outer\z/).first
    expect([open_call.called, open_call.total.positive?]).to eq([0, true])
    upcase = tree.find("String#upcase").first
    expect(upcase.call_trees.first.path.map { |node| node.target.label }).to include(open_call.label)
    expect(tree.methods.map(&:label)).not_to include(/RperfPush/)
  end

  it "leaves methods out by label, class and path; their time is their caller's" do
    whole = { label: "String#upcase", class: String, pattern: /upcase/ }.map do |_, pattern|
      tree = traced(except: pattern) { 5.times { "x".upcase.to_sym } }
      [tree.find("String#upcase").size, tree.nodes.sum(&:self) + tree.overhead_ns == tree.duration_ns]
    end
    expect(whole).to all(eq([0, true]))
    only = traced(only: ["String#upcase"]) { 5.times { "x".upcase.to_sym } }
    expect(calls_of(only)).to eq("String#upcase" => 5)
    expect(calls_of(traced(only: "**/calls_spec.rb") { shop.new.process }).keys).to all(match(/#(process|validate|save|write)|calls_spec|block|instance|<|#/))
    expect { traced(only: 3) { nil } }.to raise_error(ArgumentError, /must be a Regexp, a class or a text, got 3/)
  end

  it "can be paused and resumed" do
    tree = traced do |trace|
      "a".upcase
      expect(trace.public_methods(false).sort).to eq(%i[pause resume])
      trace.pause
      "b".upcase
      trace.resume
      "c".upcase
    end
    expect(calls_of(tree)["String#upcase"]).to eq(2)
    expect(tree.nodes.sum(&:self) + tree.overhead_ns).to eq(tree.duration_ns)
  end

  it "has blocks as nodes, or C methods not at all, if asked for" do
    with_blocks = traced(blocks: true) { [1, 2, 3].each { |x| x.to_s } }
    block = with_blocks.methods.find { |method| method.kind == :block && method.called == 3 }
    expect(block.label).to start_with("block")
    expect(block.callees.map { |callee| [callee.target.label, callee.called] }).to eq([["Integer#to_s", 3]])
    without_c = traced(c_methods: false) { shop.new.process.to_s }
    expect(without_c.methods.map(&:kind).uniq).to eq([:ruby])
  end

  # In a program of its own, where <main> is all that is under way.
  it "tells as many chains of calls apart as it was asked to, and counts none of its own among them" do
    kept = result_of(<<~RUBY)
      puts JSON.generate([3, 5, 7].map { |limit|
        tree = RperfPush.trace(max_nodes: limit) { %w[upcase downcase reverse to_s to_sym size].each { |name| "a".public_send(name) } }[:tree]
        tree.nodes.count { |node| node.path.any? && node.path.none? { |above| above.target.kind == :other } }
      })
    RUBY
    expect(kept).to eq([3, 5, 7])
  end

  it "counts calls by method past the limit of chains" do
    tree = traced(max_nodes: 80) { 60.times { |i| Object.new.instance_eval("def self.m#{i} = to_s; m#{i}", __FILE__, __LINE__) } }
    expect(tree).to be_full
    expect(tree.methods.select { |method| method.label.match?(/m\d+\z/) }.map(&:called)).to eq([1] * 60)
    expect(tree.methods.select { |method| method.label == "Kernel#to_s" }.sum(&:called)).to eq(60)
    expect(tree.find("(other)").flat_map(&:callees).map { |relation| relation.target.label }).to include(/m59\z/, "Kernel#to_s")
    expect(tree.nodes.sum(&:self) + tree.overhead_ns).to eq(tree.duration_ns)
    expect(tree.report(:flat)).to include("Not all chains of calls are told apart: the rest is counted by method below (other)")
    expect(tree.losses.size).to eq(1)
    expect(RperfPush::CallTree.from_h(tree.to_h).losses).to eq(tree.losses)
  end

  # Before each trace all caches of the VM are filled, which are objects, too. Since Ruby 4.0 the VM makes an object itself where a
  # program says new: there is no call of Class#new.
  it "counts the objects that each call creates, if asked for" do
    out, err, status = run_ruby(<<~RUBY)
      require "json"
      class Book; end
      def some(count) = count.times { Book.allocate }
      def pair = [Object.allocate, "a" + "b"]
      def work
        some(40)
        10.times { pair }
        some(2)
      end
      trace = ->(**options) { RperfPush.trace(**options) { work } }
      before = after = nil
      3.times do
        trace.call(mode: :alloc)
        trace.call(mode: [:wall, :alloc], c_methods: false)
      end
      data = trace.call(mode: [:wall, :alloc])
      tree = data[:tree]
      of = ->(label) { tree.find(label).first.allocations }
      plain = trace.call(mode: [:alloc, :wall], c_methods: false)
      RperfPush.save("#{tmpdir}/objects.json", data)
      read = RperfPush.load("#{tmpdir}/objects.json")[:tree]
      print JSON.generate(made: of.call("Class#allocate"), plus: of.call("String#+"), pair: of.call("Object#pair"), sum: data[:values][:alloc_objects].sum,
                          units: data[:units], some: plain[:tree].find(/Object#some|Integer#times/).sum(&:allocations), weight: plain[:aggregated_samples].sum { _2 }, mode: plain[:mode],
                          read: read.find("Class#allocate").first.allocations, row: read.report(:flat)[/^.*Class#allocate$/], none: RperfPush.trace { work }[:tree].methods.first.allocations,
                          heading: read.report(:flat)[/^.*self ms.*$/])
    RUBY
    expect(status).to be_success, err
    seen = JSON.parse(out, symbolize_names: true)
    # An Array and two texts of each pair are its own, the sum of the texts is that of String#+.
    expect(seen).to include(made: 52, plus: 10, pair: 30, read: 52, some: 42, mode: %w[alloc wall], none: nil, units: include(alloc_objects: "count"))
    expect(seen[:sum]).to be_between(92, 100)
    expect(seen[:weight]).to be_between(92, 100)
    expect(seen[:heading]).to match(/calls      objects   method/)
    expect(seen[:row]).to match(/ 52 +52   Class#allocate/)
  end

  it "measures CPU time of the process if asked for" do
    data = RperfPush.trace(mode: %i[cpu wall]) do
      sleep 0.2
      deadline = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.1
      nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < deadline
    end
    sleeping = data[:tree].find("Kernel#sleep").first
    expect(sleeping.self).to be >= 200_000_000
    expect(sleeping.cpu).to be < 100_000_000
    expect(data[:aggregated_samples].sum { |sample| sample[1] }).to be_between(100_000_000, data[:duration_ns])
    expect(data[:values].keys).to eq(%i[calls wait blocked waiting gc wall])
  end

  # A tree has room for many calls. What was in use before is not cleared and kept, but given back.
  it "takes memory for what it has seen, not for what it has room for, however often it is used" do
    found = result_of(<<~RUBY)
      require "etc"
      megabytes = -> { File.read("/proc/self/statm").split[1].to_i * Etc.sysconf(Etc::SC_PAGESIZE) / 1024 / 1024 }
      sizes = Array.new(3) { 60.times { RperfPush.trace { [1].each { |x| x.to_s } } } and megabytes.call }
      puts JSON.generate({ grown: sizes.last - sizes.first })
    RUBY
    expect(found[:grown]).to be < 100
  end

  it "returns data that every format takes" do
    data = RperfPush.trace { 4.times { "x".upcase } }
    Dir.chdir(tmpdir) do
      %w[a.json.gz a.pb.gz a.collapsed a.txt].each { |name| RperfPush.save(name, data) }
      pprof = RperfPush.load("a.pb.gz")
      at = pprof[:aggregated_samples].index { |frames, _| frames.first.last == "String#upcase" }
      expect(pprof[:values][:calls][at]).to eq(4)
      expect(RperfPush.load("a.json.gz")[:tree].to_h.to_json).to eq(data[:tree].to_h.to_json)
      expect(RperfPush.load("a.json.gz")[:tree].report(:graph)).to eq(data[:tree].report(:graph))
    end
  end

  it "gives a tree that tells itself in JSON, and loads no library for it" do
    out, err, = run_ruby("tree = RperfPush.trace { [1].each(&:to_s) }[:tree]; text = tree.to_json; print defined?(JSON).inspect; require 'json'; print text == JSON.generate(tree.to_h)")
    expect([out, err]).to eq(["niltrue", ""])
  end

  # Lines of the reports' own code that run, which no clock disturbs.
  it "takes time and memory for a deep chain as it has calls, not as their square" do
    def deep(n) = n.zero? ? 0 : deep(n - 1)
    datas = [400, 800].map { |depth| RperfPush.trace(c_methods: false) { deep(depth) } }
    lines = datas.map do |data|
      count = 0
      TracePoint.new(:line) { count += 1 }.enable { %i[graph callgrind dot].each { |name| data[:tree].report(name) } }
      count
    end
    expect(lines[1]).to be_between(lines[0], 3 * lines[0])
    require "objspace"
    frames = datas.first[:aggregated_samples].map(&:first) # of callers none is cut off at 512
    expect(frames.map(&:size).max).to be_between(400, 512)
    expect(frames.sum { |one| ObjectSpace.memsize_of(one) }).to be < 100 * frames.size
  end

  it "refuses to run twice, and needs a block and arguments that are right" do
    expect { traced { traced { nil } } }.to raise_error(RuntimeError, "calls are traced already")
    expect(calls_of(traced { "x".upcase })["String#upcase"]).to eq(1)
    expect { RperfPush.trace }.to raise_error(ArgumentError, "trace needs a block")
    expect { traced(mode: :heap) { nil } }.to raise_error(ArgumentError, /mode must be/)
    expect { traced(max_nodes: 0) { nil } }.to raise_error(ArgumentError, /max_nodes must be/)
  end

  it "ends with its block, also by an exception, and keeps nothing alive" do
    expect { traced { raise "away" } }.to raise_error("away")
    found = result_of(<<~RUBY)
      def make = Class.new { def hello = 1 }
      3.times { RperfPush.trace { 200.times { make.new.hello } } }
      GC.start
      RperfPush.trace { 1 }
      GC.start
      puts JSON.generate({ left: ObjectSpace.each_object(Class).count { |one| one.instance_methods(false) == [:hello] } })
    RUBY
    expect(found[:left]).to be < 20
  end

  # The first trace of a process measures what tracing costs, so it is the one that is interrupted here.
  it "ends where it is interrupted, wherever that is" do
    found = result_of(<<~RUBY, timeout: 120)
      require "timeout"
      ended = Array.new(30) do |i|
        RperfPush::CallCosts.instance_variable_get(:@known).clear
        Timeout.timeout(0.0005 * (i + 1)) { RperfPush.trace { loop { "x".upcase } } }
      rescue Timeout::Error
        RperfPush.trace { 2.times { "x".upcase } }[:tree].find("String#upcase").first.called
      end
      puts JSON.generate({ ended: ended })
    RUBY
    expect(found).to eq(ended: [2] * 30)
  end

  # An interrupt is raised where a method in C returns: the tracer's own ones are interrupted here, one after the other.
  it "ends where it is interrupted as it begins or ends" do
    found = result_of(<<~RUBY)
      interrupted, counted = Array.new(20) do |nth|
        RperfPush::CallCosts.instance_variable_get(:@known).clear
        left = nth
        away = TracePoint.new(:c_return) { |tp| raise "away" if tp.method_id.start_with?("calls_") && (left -= 1) < 0 }
        ended = begin; away.enable { RperfPush.trace { nil } } && nil; rescue RuntimeError => e; e.message; end
        [ended, RperfPush.trace { "x".upcase }[:tree].find("String#upcase").first.called]
      end.transpose
      puts JSON.generate({ interrupted: interrupted.compact.uniq, counted: counted.uniq })
    RUBY
    expect(found).to eq(interrupted: ["away"], counted: [1])
  end

  it "knows what tracing costs below a deep stack" do
    found = result_of(<<~RUBY)
      def deep(n) = n.zero? ? RperfPush.trace { 1000.times { "x".upcase } }[:tree].overhead_ns : deep(n - 1)
      puts JSON.generate({ overhead: deep(300) })
    RUBY
    expect(found[:overhead]).to be_positive
  end

  it "knows what tracing costs after a first trace in a TracePoint's block, where no call is seen" do
    found = result_of(<<~RUBY)
      def often = RperfPush.trace { 1000.times { "x".upcase } }[:tree]
      within = nil
      TracePoint.new(:end) { within ||= often }.enable { class Shop; end }
      puts JSON.generate({ within: within.calls, overhead: often.overhead_ns })
    RUBY
    expect(found).to match(within: 0, overhead: be_positive)
  end

  it "survives compaction and the GC of what it traces" do
    found = result_of(<<~RUBY, timeout: 120)
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      GC.stress = false
      data = RperfPush.trace do
        300.times do |i|
          one = Class.new { define_method(:hello) { |n| n.zero? ? "x" : hello(n - 1) } }
          one.new.hello(3)
          GC.compact if i % 50 == 0 && GC.respond_to?(:compact)
          GC.start if i % 20 == 0
        end
      end
      puts JSON.generate({ hello: data[:tree].find(/hello/).sum(&:called) })
    RUBY
    expect(found).to eq(hello: 1200)
  end

  it "does not trace a forked child, which may trace itself" do
    found = result_of(<<~RUBY)
      read, write = IO.pipe
      tree = RperfPush.trace do
        pid = fork do
          "x".upcase
          write.puts RperfPush.trace { 2.times { "x".upcase } }[:tree].find("String#upcase").first.called
          exit!(0)
        end
        Process.wait(pid)
        "x".upcase
      end[:tree]
      puts JSON.generate({ child: read.gets.to_i, parent: tree.find("String#upcase").first.called })
    RUBY
    expect(found).to eq(child: 2, parent: 1)
  end

  it "gives a child that leaves the same block what was traced until the fork, in nanoseconds" do
    found = result_of(<<~RUBY)
      def work = (till = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.05; nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till)
      read, write = IO.pipe
      child = nil
      data = RperfPush.trace(mode: [:wall, :cpu]) do
        work
        child = fork
        work unless child
      end
      work_node = data[:tree].find("Object#work").first
      sum = data[:aggregated_samples].sum { |_, weight| weight }
      facts = { called: work_node.called, cpu: work_node.cpu, sum:, duration: data[:duration_ns] }
      unless child
        write.puts JSON.generate(facts)
        exit!(0)
      end
      Process.wait(child)
      puts JSON.generate({ child: JSON.parse(read.gets), parent: facts })
    RUBY
    expect(found[:child]).to include(called: 1, cpu: be < 1e9, duration: be >= 50_000_000)
    expect(found[:child][:sum]).to be_between(1_000_000, found[:child][:duration])
  end
end
