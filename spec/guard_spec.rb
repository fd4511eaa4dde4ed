# frozen_string_literal: true

require_relative "support/stress_program"

# The second line behind checked walks, and the proof that comes before them.
RSpec.describe "Walks of stacks", :waiting do
  include StressProgram

  before { skip "needs rake compile:testing" unless StressProgram.built? }

  def run_broken(broken, code, env: {})
    command = [RbConfig.ruby, "-I", StressProgram::TESTING_LIB, "-I", RubyProgram::LIB, "-r", "json", "-r", "tmpdir", "-r", "rperf_push", "-e", <<~RUBY]
      Dir.mktmpdir do |folder|
        # No window ends, at which stacks would be walked at a safepoint.
        RperfPush.configure! { |config| config.application_name, config.directory, config.upload_interval = "guard", folder, 3600 }
        #{code}
      end
    RUBY
    # Since Ruby 4.0 fiddle is a gem that comes with Ruby: it is where Ruby has its gems, and the bundle has its own.
    gems_of_ruby = { **RubyProgram::WITHOUT_GEMS, "GEM_HOME" => nil, "GEM_PATH" => nil }
    run_program(command, env: { **gems_of_ruby, "RPERF_PUSH_TESTING_BREAK" => broken, "RPERF_PUSH_TESTING_HZ" => "1000", **env })
  end

  context "when they read what is not there" do
    it "are deferred and counted, and the program goes on" do
      out, err, status = run_broken("fault", <<~RUBY)
        till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 20
        faulted = -> { RperfPush.stats.values_at(:captures_faulted, :samples_deferred_busy).min }
        Array.new(1_000) { |i| [i.to_s].first.size }.sum until faulted.call > 10 || Process.clock_gettime(Process::CLOCK_MONOTONIC) > till
        puts JSON.generate(RperfPush.stats)
      RUBY
      expect(status).to be_success, err
      stats = JSON.parse(out)
      expect(stats["captures_faulted"]).to be > 10
      expect(stats["samples_deferred_busy"]).to be > 10
      expect(stats["engine"]).to eq("signal")
    end

    it "do not hide a stack overflow of the program" do
      out, err, status = run_broken("fault", <<~RUBY)
        def self.in_ruby(depth) = in_ruby(depth + 1) + 1
        def self.in_c(list) = [list].each { |x| in_c(x) }
        ends = [-> { in_ruby(0) }, -> { in_c([]) }].map do |endless|
          endless.call
        rescue SystemStackError => e
          e.class.name
        end
        puts JSON.generate(ends)
      RUBY
      expect(status).to be_success, err
      expect(JSON.parse(out)).to eq(%w[SystemStackError SystemStackError])
    end

    # Nothing here comes to a safepoint between the masks: only the ticks' handler could walk.
    it "wait while the program handles a fault: another one would end it there without a word" do
      out, err, status = run_broken("fault", <<~RUBY)
        require "fiddle"
        int, pointer = Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP
        in_c = ->(name, types) { Fiddle::Function.new(Fiddle.dlopen(nil)[name], types, int, need_gvl: true) }
        mask, fill = in_c["pthread_sigmask", [int, pointer, pointer]], in_c["memset", [pointer, int, Fiddle::TYPE_SIZE_T]]
        faults = [1 << (Signal.list["SEGV"] - 1)].pack("Q") + "\\0" * 120
        memory = Fiddle.malloc(size = 1 << 28)
        block, unblock = 0, 1
        GC.disable
        mask.call(block, faults, nil)
        fill.call(memory, 1, size)
        fill.call(memory, 2, size)
        fill.call(memory, 3, size)
        mask.call(unblock, faults, nil)
        puts "lives"
      RUBY
      expect([out, status.to_s[/exit.*/]]).to eq(["lives\n", "exit 0"]), err
    end

    it "do not hide a crash of the program: Ruby reports it" do
      _, err, status = run_broken("fault", <<~RUBY)
        require "fiddle"
        Array.new(1_000) { |i| i.to_s } until RperfPush.stats[:captures_faulted] > 10
        Fiddle::Pointer.new(8)[0]
      RUBY
      expect(status.signaled?).to be(true)
      expect(err).to include("[BUG] Segmentation fault at 0x0000000000000008").and include("Control frame information")
    end
  end

  it "are proven below a deep stack, too" do
    out, err, status = run_ruby(<<~RUBY, env: { "RPERF_PUSH_DIRECTORY" => tmpdir })
      def deep(levels, &) = levels.zero? ? yield : deep(levels - 1, &)
      deep(1_000) { RperfPush.configure! }
      puts RperfPush.stats[:engine]
    RUBY
    expect([out, err.lines.grep(/not known/), status.success?]).to eq(["signal\n", [], true])
  end

  context "when a number of the layout is wrong" do
    let(:numbers) { on_testing_build("puts JSON.generate(numbers: RperfPush::Native.layout_numbers)")[:numbers] }

    it "are left to the VM at safepoints, and one line says so" do
      engines = Array.new(numbers) do |number|
        out, err, status = run_broken("layout:#{number}", <<~RUBY)
          puts JSON.generate([RperfPush.stats[:engine], RperfPush.stats[:captures_faulted]])
        RUBY
        expect(status).to be_success, "number #{number}: #{err}"
        lines = err.lines.grep(/engine safepoint instead of signal: the stacks of this Ruby are not known/).size
        [number, JSON.parse(out).first, lines]
      end
      expect(engines).to all(match([Integer, "safepoint", 1]))
    end
  end
end
