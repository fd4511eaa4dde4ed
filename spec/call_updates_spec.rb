# frozen_string_literal: true

require "json"
require "rperf_push"

# What somebody is told who looks on while calls are traced: bit by bit, and together the tree.
RSpec.describe "Updates of a trace" do
  random_calls = File.expand_path("support/random_calls.rb", __dir__)

  # A thread traces the others for somebody outside, as rb_call_attach.c has it, and looks again and again.
  watching = <<~RUBY
    require "json"
    require "rperf_push"
    require "rperf_push/calls/call_trace"
    require "rperf_push/remote/live_calls"

    COLUMNS = RperfPush::LiveCalls::COLUMNS.drop(1)

    class Watch
      attr_reader :updates, :tree

      def initialize(**options)
        @trace = RperfPush::CallTrace.new(max_nodes: 100_000, **options)
        @updates, @orders = [], Queue.new
        @thread = Thread.new { Thread.current.name = "watch"; watch }
        @orders << :begin
        sleep 0.001 until @updates.any?
      end

      def stop
        @orders << :end
        @thread.join
        self
      end

      # By shown node; and nodes as [parent, method].
      def sums = updates.flat_map { |one| one["changes"] }.each_slice(COLUMNS.size + 1).with_object({}) { |(node, *by), all| all[node] = all[node] ? all[node].zip(by).map(&:sum) : by }
      def nodes = updates.flat_map { |one| one["nodes"] }.each_slice(2).to_a

      # Nodes of the tree that are not what was told: none.
      def wrong
        told, places = sums, nodes
        tree.nodes.filter_map do |node|
          expected = [node.parent&.id || -1, node.target&.id || (node.thread_number - 1), COLUMNS.map { |column| node.public_send(column == :calls ? :called : column) }]
          found = [*places[node.id], told[node.id] || [0] * COLUMNS.size]
          [expected, found] if expected != found
        end + (places.size == tree.nodes.size ? [] : [[places.size, tree.nodes.size]])
      end

      private

      def watch
        @orders.pop
        @trace.start(outside: true, follows: true)
        look
        look until @orders.pop(timeout: 0.001)
        @trace.pause
        more = true
        more = look while more
        @tree = @trace.tree
      end

      def look
        text, more = @trace.update
        updates << JSON.parse(text)
        more
      end
    end
  RUBY

  define_method(:result_of) do |code, **options|
    out, err, status = run_ruby("#{watching}\n#{code}", **options)
    expect([status.exitstatus, err]).to eq([0, ""])
    JSON.parse(out.lines.last, symbolize_names: true)
  end

  it "are together the tree, to the nanosecond and the call, of programs that call in every way" do
    found = result_of(<<~RUBY, timeout: 240)
      require #{random_calls.inspect}
      programs = (1..12).map { |seed| eval(RandomCalls.new(seed).text, TOPLEVEL_BINDING.dup, "random_\#{seed}.rb") }
      runs = [{}, { c_methods: false }, { blocks: true, except: ["Integer#+", "**/random_3.rb"] }, { max_nodes: 300 }].map do |options|
        watch = Watch.new(**options)
        3.times { programs.each { |program| program.new.m0(2) } }
        watch.stop
        tree = watch.tree
        { wrong: watch.wrong.first(3), updates: watch.updates.size, overhead: watch.updates.last["overhead"] == tree.overhead_ns,
          passed: tree.duration_ns - tree.nodes.sum(&:self) - tree.overhead_ns, traced: watch.updates.last["traced"] == tree.duration_ns }
      end
      puts JSON.generate(runs)
    RUBY
    expect(found).to all(include(wrong: [], overhead: true, traced: true, passed: 0))
    expect(found.sum { |run| run[:updates] }).to be > 10
  end

  it "tell of nothing that the thread does which traces" do
    found = result_of(<<~RUBY)
      watch = Watch.new
      200.times { |i| eval("def fresh_\#{i} = nil; fresh_\#{i}") } # each has to be named
      watch.stop
      puts JSON.generate({ wrong: watch.wrong, below: watch.tree.threads.find { |one| one.name == "watch" }.root.children.size,
                           threads: watch.updates.flat_map { |one| one["threads"] }, fresh: watch.tree.find(/fresh/).sum(&:called) })
    RUBY
    expect(found).to eq(wrong: [], below: 0, threads: [["main", false, false], ["watch", false, true]], fresh: 200)
  end

  it "say where each thread is: at the top of what is open" do
    found = result_of(<<~RUBY)
      class Door
        def initialize = @queue = Queue.new
        def stand = @queue.pop
        def rest = sleep
        def open = @queue << 1
      end
      door = Door.new
      visitor = Thread.new { Thread.current.name = "visitor"; door.stand; door.rest }
      sleep 0.001 until visitor.stop?
      watch = Watch.new
      methods, nodes = {}, []
      place = lambda do
        before = watch.updates.size
        sleep 0.001 until watch.updates.size > before + 1
        watch.updates.each { |one| one["methods"].each { |id, label| methods[id] = label } }
        nodes = watch.nodes
        threads = watch.updates.flat_map { |one| one["threads"] }.map(&:first)
        _, node, state = watch.updates.last["at"].find { |root,| threads[root] == "visitor" } || next
        labels = []
        (labels << methods[nodes[node][1]]; node = nodes[node][0]) while nodes[node][0] >= 0
        [labels, state]
      end
      stands = place.()
      door.open
      Thread.pass until visitor.stop?
      rests = place.()
      visitor.kill.join
      gone = place.()
      puts JSON.generate({ stands:, rests:, gone: })
    RUBY
    expect(found).to match(stands: [["Thread::Queue#pop", "Door#stand"], "blocked"], rests: [["Kernel#sleep", "Door#rest"], "blocked"], gone: nil)
  end

  it "become windows for the page, which together are the data of the trace" do
    found = result_of(<<~RUBY)
      class Shop
        def search(n) = n.times { look }
        def look = "x".hash
      end
      watch = Watch.new
      20.times { Shop.new.search(50); sleep 0.002 }
      watch.stop
      calls = RperfPush::LiveCalls.new
      windows = watch.updates.flat_map { |update| calls.windows(update) }.map { |bytes| RperfPush::PProf.decode(Zlib.gunzip(bytes)) }
      names = %i[wall calls wait blocked waiting gc]
      by_stack = lambda do |data|
        columns = names.map { |name| RperfPush::Values.column(data, name) }
        data[:aggregated_samples].each_with_index.with_object({}) do |((frames, weight, thread, set), at), sums|
          next if data[:label_sets][set].key?(:"%at")

          numbers = columns.map { |column| column ? column[at] : weight }
          key = [frames.map { |path, label| [path.sub("<C method>", ""), label] }, thread]
          sums[key] = sums[key] ? sums[key].zip(numbers).map(&:sum) : numbers
        end.reject { |_, numbers| numbers.all?(&:zero?) }
      end
      told = windows.map(&by_stack).reduce { |all, one| all.merge(one) { |_, a, b| a.zip(b).map(&:sum) } }
      expected = by_stack.(RperfPush::CallData.of(watch.tree, [:wall])).reject { |(_, thread), _| watch.tree.threads[thread - 1].name == "watch" }
      puts JSON.generate({ same: told == expected, stacks: told.size, looks: watch.tree.find("Shop#look").first.called,
                           states: windows.flat_map { |one| one[:label_sets].filter_map { |set| set[:"%at"] } }.uniq })
    RUBY
    expect(found).to include(same: true, looks: 1000)
    expect(found[:stacks]).to be > 5
    expect(found[:states]).to include("blocked")
  end

  it "need a trace that has not begun, and names for what they tell" do
    native = RperfPush::Native.calls_new(100, false, false, true, false)
    expect { RperfPush::Native.calls_update(native, "{") }.to raise_error(RuntimeError, "nobody looks on")
    RperfPush::Native.calls_follow(native, [[0, 0]] * 4)
    expect { RperfPush::Native.calls_follow(native, [[0, 0]] * 4) }.to raise_error(RuntimeError, "it has begun already")
    expect(RperfPush::Native.calls_update(native, "{")).to be_nil # (other) has no name
    expect { RperfPush::Native.calls_name(native, [7], 0) }.to raise_error(RangeError)
    RperfPush::Native.calls_name(native, [0], 0)
    text, more = RperfPush::Native.calls_update(native, "{")
    expect([JSON.parse(text), more]).to eq([{ "nodes" => [], "changes" => [], "at" => [], "traced" => 0, "overhead" => 0 }, false])
  end
end
