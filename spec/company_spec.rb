# frozen_string_literal: true

require_relative "support/pprof_profile"

# What else looks into a program, or takes what it can have: each sees what it came for, and so does the profiler.
RSpec.describe "A profiled program", :interpreted do
  prelude = <<~'RUBY'
    def work(seconds = 0.3)
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    end

    def profile(**options)
      RperfPush.configure! do |config|
        config.directory = ENV.fetch("FOLDER")
        options.each { |option, value| config.public_send(:"#{option}=", value) }
      end
    end
  RUBY

  # @return [String] standard output
  define_method(:run) do |code, err: ""|
    out, said, status = run_ruby([prelude, code].join, gems: true, env: { "FOLDER" => tmpdir })
    expect(status).to be_success, said
    expect(said).to match(err)
    expect(methods_seen).to include("Object#work")
    out
  end

  def methods_seen
    Dir["#{tmpdir}/*.pb.gz"].flat_map { |path| PprofProfile.read(path).samples.flat_map { |sample| sample.stack.map(&:name) } }.uniq
  end

  it "may have its coverage measured" do
    File.write("#{tmpdir}/covered.rb", "def covered(n)\n  n.odd? ? :odd : :even\nend\n")
    out = run(<<~'RUBY')
      require "coverage"
      Coverage.start(lines: true, branches: true, methods: true)
      load File.join(ENV["FOLDER"], "covered.rb")
      profile
      1000.times { |n| covered(n) }
      work
      result = Coverage.result.values.first
      p result[:lines], result[:methods].values, result[:branches].values.first.values
    RUBY
    expect(out).to eq("[1, 1000, nil]\n[1000]\n[500, 500]\n")
  end

  # As tools that look for classes do.
  it "may ask each module for its name, whatever of ours it has loaded" do
    lib = RubyProgram::LIB
    out = run(<<~RUBY)
      %w[rails/all rails/generators grape hanami hanami/router roda sinatra/base].each { |feature| require feature }
      profile
      Dir.glob("**/*.rb", base: #{lib.inspect}).sort.each { |path| require path.delete_suffix(".rb") }
      ours = ObjectSpace.each_object(Module).select { |found| Module.instance_method(:name).bind_call(found)&.start_with?("RperfPush") }
      p ours.size, ObjectSpace.each_object(Module).count(&:name)
      work
    RUBY
    expect(out.split.map(&:to_i)).to all(be > 100)
  end

  # As a debugger sets them: on lines, calls, threads, fibers and exceptions.
  it "may be traced" do
    out = run(<<~'RUBY')
      seen = Hash.new(0)
      def traced = [1].each { |one| one.to_s }
      everywhere = TracePoint.new(:call, :return, :b_call, :b_return, :c_call, :c_return, :raise, :thread_begin, :thread_end, :fiber_switch,
                                  :script_compiled, :class, :end) do |point|
        seen[point.event] += 1 if point.method_id == :traced || %i[thread_begin thread_end].include?(point.event)
      end
      lines = TracePoint.new(:line) { seen[:line] += 1 }
      profile
      everywhere.enable
      lines.enable(target: method(:traced)) { 100.times { traced } }
      Thread.new { Fiber.new { 1 }.resume; raise "x" rescue 0 }.join
      work
      everywhere.disable
      p seen.values_at(:call, :return, :b_call, :thread_begin, :thread_end), seen[:line] >= 100
    RUBY
    expect(out).to eq("[100, 100, 100, 1, 1]\ntrue\n")
  end

  # The debugger stops all threads at a breakpoint, evaluates, and goes on.
  it "may be debugged" do
    File.write("#{tmpdir}/debugged.rb", "def debugged(n)\n  n += 1\n  n\nend\n")
    out = run(<<~'RUBY')
      require "debug/session"
      profile
      DEBUGGER__.start(nonstop: true, no_color: true)
      $stops = []
      load(path = File.join(ENV["FOLDER"], "debugged.rb"))
      DEBUGGER__::SESSION.add_line_breakpoint(path, 3, command: ["break", nil, "$stops << n"])
      def stopped(n) = binding.break(do: "$stops << -n")
      waiting = Thread.new { sleep }
      3.times { |n| debugged(n) }
      work
      3.times { |n| Thread.new { stopped(n) }.join }
      waiting.kill.join
      work
      Process.wait(fork { debugged(7); work; exit!($stops.last == 8 && RperfPush.flush) })
      puts "stops: #{$stops}, forked: #{$?.success?}"
    RUBY
    expect(out.lines.last).to eq("stops: [1, 2, 3, 0, -1, -2], forked: true\n")
  end

  it "may have its memory profiled" do
    out = run(<<~'RUBY')
      require "memory_profiler"
      profile
      report = MemoryProfiler.report { @kept = Array.new(1000) { "x" * 50 }; work }
      kept = report.retained_objects_by_class.find { |found| found[:data] == "String" }
      p kept[:count] >= 1000
    RUBY
    expect(out).to eq("true\n")
  end

  # memory_profiler counts with tracepoints of its own. A session on the CPU tells which ones of ours stay when nothing is profiled.
  memory_profiled = <<~'RUBY'
    require "memory_profiler"
    Book = Class.new
    def create(count) = Array.new(count) { Book.new }
    def ours(data) = data[:aggregated_samples].sum { |frames, objects| frames[0][1] == "Book" ? objects : 0 }
    def theirs(found) = found.find { |row| row[:data] == "Book" }[:count]
    def tracepoints_on = ObjectSpace.each_object(TracePoint).count(&:enabled?)
    RperfPush.start(mode: :cpu) { create(1) }
    idle = tracepoints_on
    reporter = MemoryProfiler::Reporter.new
  RUBY

  # Who begins and ends when => ours, theirs, and those of theirs that are kept.
  { %w[ours theirs ours theirs] => [315, 4300, 3200], %w[theirs ours ours theirs] => [300, 4315, 3210],
    %w[ours theirs theirs ours] => [4315, 300, 200], %w[theirs ours theirs ours] => [4300, 315, 210] }.each do |order, counts|
    it "may have its memory profiled while its allocations are, and both count each object: #{order.join(", ")}" do
      steps = { "ours" => ["RperfPush.start(mode: :alloc, alloc_interval: 1)", "data = RperfPush.stop"],
                "theirs" => ["reporter.start", "report = reporter.stop"] }
      first, second, third, fourth = order.map { |who| steps[who].shift }
      out, said, status = run_ruby(<<~RUBY, gems: true)
        #{memory_profiled}
        #{first}; kept = create(10); create(5)
        #{second}; kept << create(200); create(100)
        #{third}; kept << create(3000); create(1000)
        #{fourth}
        captured = RperfPush.stats[:allocations_captured]
        create(50_000)
        p [ours(data), theirs(report.allocated_objects_by_class), theirs(report.retained_objects_by_class)]
        p tracepoints_on - idle, RperfPush.stats[:allocations_captured] - captured, ObjectSpace.allocation_sourceline(Book.new)
      RUBY
      expect([status.success?, said]).to eq([true, ""])
      expect(out.split("\n")).to eq([counts.inspect, "0", "0", "nil"])
    end
  end

  it "may have its memory profiled while some of its allocations are sampled: the sum stays exact, and nothing stays on" do
    out = run(<<~RUBY)
      #{memory_profiled}
      profile(mode: %i[cpu wall alloc])
      reporter.start
      kept = create(100_000)
      create(10_000) until RperfPush.stats[:allocations_captured] >= 300
      work
      report = reporter.stop
      work
      RperfPush.shutdown
      bursts = RperfPush.stats[:allocation_bursts]
      create(300_000)
      p theirs(report.retained_objects_by_class), tracepoints_on - idle, RperfPush.stats[:allocation_bursts] - bursts
      puts theirs(report.allocated_objects_by_class)
    RUBY
    kept, left_on, later, created = out.split.map(&:to_i)
    expect([kept, left_on, later]).to eq([100_000, 0, 0])
    counted, of_books = alloc_objects
    expect(counted).to be >= created
    expect(of_books).to be > created / 2
  end

  # @return [Array(Integer, Integer)] all objects, and those of class Book
  def alloc_objects
    profiles = Dir["#{tmpdir}/*.pb.gz"].map { |path| PprofProfile.read(path) }
    [profiles.sum { |one| one.total("alloc_objects") }, profiles.sum { |one| one.by_method("alloc_objects").dig("Book", 0).to_i }]
  end

  %i[cpu wall object].each do |mode|
    it "may have stackprof beside it, mode #{mode}" do
      out = run(<<~RUBY)
        require "stackprof"
        profile
        seen = StackProf.run(mode: :#{mode}, interval: 1000) { work; 40_000.times { Object.new } }
        p seen[:samples] >= 20, seen[:frames].values.any? { |frame| frame[:name] == "Object#work" }
      RUBY
      expect(out.lines.first).to eq("true\n")
      expect(out.lines.last).to eq("true\n") unless mode == :object
    end
  end

  it "may have vernier beside it" do
    out = run(<<~'RUBY')
      require "vernier"
      profile
      result = Vernier.profile { work }
      p result.main_thread[:samples].size > 0
    RUBY
    expect(out).to eq("true\n")
  end

  # Those that Ruby keeps for itself cannot be had.
  trap_all = <<~'RUBY'
    $seen = []
    trap_all = lambda do
      (Signal.list.keys - ["EXIT"]).count do |name|
        trap(name) { $seen << name }
      rescue ArgumentError, SystemCallError
        false
      end
    end
  RUBY

  {
    "before" => ["trap_all.call; profile; work", /\A\[rperf-push\] engine safepoint instead of signal: the program handles SIGURG and SIGWINCH itself\n\z/],
    "after" => ["profile; work; trap_all.call; work", /^\[rperf-push\] engine safepoint instead of signal from now on.*\n\z/]
  }.each do |moment, (code, err)|
    it "may trap each signal that it can, #{moment} it is profiled, and gets none of ours but the last of a timer" do
      out = run("#{trap_all}\n#{code}; print $seen.tally.inspect", err:)
      expect(out).to match(/\A\{(?:"(?:URG|WINCH)" ?=> ?[1-3](?:, )?){,2}\}\z/)
    end
  end
end
