# frozen_string_literal: true

# Programs have handlers of their own for SIGSEGV and SIGBUS. They run as if the profiler had none.
RSpec.describe "A crash reporter", :interpreted do
  flags = { siginfo: 4, nodefer: 0x40000000, resethand: 0x80000000 }
  kinds = { "a handler" => 0, "SIG_DFL" => 1, "SIG_IGN" => 2 }

  before(:context) do
    @folder = Dir.mktmpdir("crash-")
    source = File.expand_path("support/crash_reporter.c", __dir__)
    system("cc", "-shared", "-fPIC", "-o", "#{@folder}/crash_reporter.so", source) || raise("no compiler")
  end

  after(:context) { FileUtils.rm_rf(@folder) }

  # @param profiler [Symbol, nil] whether it starts before or after the reporter is installed
  # @return [Array(String, String)] what the program printed, and how it ended
  def run_reporter(profiler, kind, flags, crash, signal = "SEGV")
    start = "RperfPush.configure! { |config| config.directory = #{tmpdir.inspect} }"
    out, err, status = run_ruby(<<~RUBY, arguments: ["-rfiddle"], timeout: 60, gems: true)
      Process.setrlimit(:CORE, 0)
      reporter = Fiddle.dlopen("#{@folder}/crash_reporter.so")
      int = Fiddle::TYPE_INT
      install = Fiddle::Function.new(reporter["install_reporter"], [int, int, int], int)
      read = Fiddle::Function.new(reporter["read_what_is_not_there"], [], int)
      #{start if profiler == :before}
      install.call(Signal.list.fetch(#{signal.inspect}), #{kind}, [#{flags}].pack("L").unpack1("l"))
      #{start if profiler == :after}
      $stdout.sync = true
      #{crash == :fault ? "read.call" : "2.times { Process.kill(#{signal.inspect}, Process.pid) }"}
      sleep 0.01
      puts "goes on"
      exit!(true)
    RUBY
    [out, status.to_s.sub(/pid \d+ /, ""), err.lines.grep(/BUG/)]
  end

  def expect_the_same(...)
    alone = run_reporter(nil, ...)
    expect(run_reporter(:before, ...)).to eq(alone)
    expect(run_reporter(:after, ...)).to eq(alone)
    alone
  end

  it "is called once if it asks for that, and then the fault ends the process" do
    out, ended, = expect_the_same(0, flags[:resethand], :fault)
    expect([out.lines.size, ended]).to eq([1, "SIGSEGV (signal 11)"])
  end

  [[], %i[siginfo], %i[nodefer], %i[siginfo nodefer], %i[siginfo resethand], %i[siginfo nodefer resethand]].each do |names|
    %i[fault sent].each do |crash|
      it "runs as it expects with #{names.empty? ? "no flags" : names.join(" and ")}, when the signal is #{crash == :fault ? "a fault" : "sent"}" do
        out, = expect_the_same(0, names.sum { |name| flags[name] }, crash)
        expect(out).to start_with(names.include?(:siginfo) ? "info 11" : "signal 11")
      end
    end
  end

  kinds.except("a handler").each do |name, kind|
    it("is #{name} to a fault, and to a signal that is sent") do
      expect_the_same(kind, 0, :fault)
      expect_the_same(kind, 0, :sent)
      expect_the_same(kind, 0, :sent, "BUS")
    end
  end
end
