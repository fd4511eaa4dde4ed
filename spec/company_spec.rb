# frozen_string_literal: true

require_relative "support/pprof_profile"

# What else looks into a program, or takes what it can have: each sees what it came for, and so does the profiler.
RSpec.describe "A profiled program" do
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
