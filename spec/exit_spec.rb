# frozen_string_literal: true

require "zlib"
require_relative "support/burner"
require_relative "support/pprof_profile"
require_relative "support/scripted_server"
require_relative "support/stress_program"

# A session that nobody ended ends with the process, in order: when Ruby is gone, no thread of the profiler is left and no
# timer's signal does any harm. Burner.linger gives them the time to show.
RSpec.describe "The end of a process", :interpreted, :waiting, :quick do
  # @return [String] standard output
  def run_to_the_end(code, libraries: [])
    folders = [*libraries, RubyProgram::LIB, BurnerExtension.load_path].flat_map { |folder| ["-I", folder] }
    out, err, status = run_program([RbConfig.ruby, *folders, "-r", "burner", "-e", "Burner.linger(0.3); #{code}"])
    expect([status.exitstatus, err]).to eq([0, ""])
    out
  end

  let(:continuous) do
    "RperfPush.configure! { |config| config.backend = :directory; config.directory = #{tmpdir.inspect}; config.upload_interval = 3600 }"
  end

  # What runs before the profiler's end proc, after it, after all end procs, and last of all.
  programs = {
    "its main program" => "require 'rperf_push'; %s",
    "an end proc that was there first" => "at_exit { %s }; require 'rperf_push'",
    "a thread that the end kills" =>
      "require 'rperf_push'; thread = Thread.new { begin; sleep; ensure; %s; end }; Thread.pass until thread.stop?",
    "a finalizer that was there first" => "ObjectSpace.define_finalizer(KEPT = Object.new, proc { %s }); require 'rperf_push'"
  }

  programs.each do |where, program|
    %i[signal safepoint].each do |engine|
      it "ends a session on demand that was begun in #{where}, engine #{engine}" do
        run_to_the_end(format(program, "RperfPush.start(engine: :#{engine}); Burner.heavy(0.05)"))
      end
    end

    it "ends a continuous session that was begun in #{where}" do
      run_to_the_end(format(program, "#{continuous}; Burner.sleep_without_gvl(0.05)"))
      profiles = Dir[File.join(tmpdir, "*.pb.gz")].map { |file| Zlib.gunzip(File.binread(file)) }
      # A finalizer runs in no thread that Ruby counts among the living: there is nothing to sample.
      expect(profiles).to match(where.include?("finalizer") ? [] : [include("Burner.sleep_without_gvl")])
    end
  end

  # Of a thread's end Ruby tells nobody then: nothing may be sampled any more.
  it "ends a session that was begun in an end proc before threads are killed" do
    out = run_to_the_end(<<~RUBY)
      at_exit { RperfPush.start }
      require "rperf_push"
      thread = Thread.new { begin; sleep; ensure; p RperfPush::Native.recording?; end }
      Thread.pass until thread.stop?
    RUBY
    expect(out).to eq("false\n")
  end

  # How it ends, and what the process that started it sees of that.
  {
    "exit(3)" => "exit(3)",
    "abort" => "abort 'over'",
    "an exception" => "raise 'over'",
    "an exception in another thread" => "Thread.new { Thread.current.abort_on_exception = true; raise 'over' }; sleep",
    "SIGTERM" => "Process.kill(:TERM, $$); sleep",
    "SIGINT" => "Process.kill(:INT, $$); sleep",
    "exit!" => "exit!(4)",
    "exit! in an end proc" => "at_exit { exit!(4) }",
    "end procs, the last one first" => "3.times { |n| at_exit { puts n; at_exit { puts -n } } }; exit(5)",
    "an exception in an end proc" => "at_exit { puts 1 }; at_exit { raise 'over' }"
  }.each do |title, ending|
    it "is the same as without a profiler, and delivers what is left: #{title}" do
      seen = [true, false].map do |enabled|
        code = "#{continuous.sub("config|", "config| config.enabled = #{enabled};")}; Burner.sleep_without_gvl(0.05)\n#{ending}"
        # Threads are known by their addresses.
        arguments = ["-I", BurnerExtension.load_path, "-r", "burner"]
        out, err, status = run_ruby(code, arguments:)
        [out, err.gsub(/0x\h+/, ""), status.exitstatus, status.termsig]
      end
      expect(seen.first).to eq(seen.last)
      expect(Dir[File.join(tmpdir, "*.pb.gz")].size).to eq(title.include?("exit!") ? 0 : 1)
    end
  end

  # Windows end long after these methods were seen for the first time; the last one ends with the process.
  it "has names for what a worker did last, however new it was" do
    _, err, status = run_ruby(<<~RUBY, arguments: ["-I", BurnerExtension.load_path, "-r", "burner"])
      #{continuous}
      Process.wait(fork do
        trap(:TERM) { exit }
        at_exit { eval("def at_last = Burner.sleep_without_gvl(0.02)"); at_last }
        Burner.sleep_without_gvl(0.05)
        6.times { |n| eval("def new_\#{n} = Burner.sleep_without_gvl(0.02)"); send(:"new_\#{n}") }
        Process.kill(:TERM, $$)
        sleep
      end)
      exit!($?.success?)
    RUBY
    expect([err, status.exitstatus]).to eq(["", 0])
    texts = Dir[File.join(tmpdir, "*.pb.gz")].map { |path| PprofProfile.read(path).samples.flat_map { |sample| sample.stack.map(&:name) } }
    expect(texts.size).to eq(1)
    expect(texts.first).to include("Object#at_last", *Array.new(6) { |n| "Object#new_#{n}" })
    expect(texts.first.grep(/unknown/)).to eq([])
  end

  # Where end procs run, nothing is on the stack any more, and the last window also has what earlier ones have kept of the CPU time.
  it "has stacks for all that it did last, whatever is on the stack when the profiler ends" do
    _, err, status = run_ruby(<<~RUBY, arguments: ["-I", BurnerExtension.load_path, "-r", "burner"])
      #{continuous}
      Burner.heavy(0.03)
      RperfPush.flush
      Burner.sleep_without_gvl(0.05)
      Process.kill(:TERM, $$)
      sleep
    RUBY
    expect([err, status.termsig]).to eq(["", Signal.list["TERM"]])
    last = Dir[File.join(tmpdir, "*.pb.gz")].max_by { |path| path[/-(\d+)\.pb/, 1].to_i }
    names = PprofProfile.read(last).samples.map { |sample| sample.stack.map(&:name) }
    expect(names).to include(include("Burner.sleep_without_gvl"))
    expect(names.flatten.grep(/unknown/)).to eq([])
  end

  it "frees what Ruby frees with RUBY_FREE_AT_EXIT=1, and is none the worse for it" do
    env = { "RUBY_FREE_AT_EXIT" => "1" }
    code = "#{continuous}; RperfPush.start; Thread.new { Burner.sleep_without_gvl(0.05) }.join; fork { exit }; Process.wait"
    out, err, status = run_ruby(code, env:, arguments: ["-W:no-experimental", "-I", BurnerExtension.load_path, "-r", "burner"])
    expect([out, err.lines.grep_v(/Free at exit is experimental/), status.exitstatus]).to eq(["", [], 0])
    expect(Dir[File.join(tmpdir, "*.pb.gz")]).not_to be_empty
  end

  # The first end proc is called last of all.
  it "says which server did not answer, in the log and in last_error" do
    server = ScriptedServer.new { |socket| IO.copy_stream(socket, File::NULL) }
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    _, err, status = run_ruby(<<~RUBY, require_gem: false, arguments: ["-I", BurnerExtension.load_path, "-r", "burner"])
      at_exit { $stderr.puts "last_error: \#{RperfPush.stats[:last_error]}" }
      require "rperf_push"
      RperfPush.configure! { |config| config.server_address, config.shutdown_timeout, config.upload_timeout = #{server.url.inspect}, 0.5, 600 }
      Burner.sleep_without_gvl(0.05)
      Process.kill(:TERM, $$)
      sleep
    RUBY
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - started).to be < 120
    expect(status.termsig).to eq(Signal.list["TERM"])
    # The request has what is left of the shutdown's time, so that either may be over first.
    unanswered = "upload to pyroscope failed: no answer from 127.0.0.1:#{server.port} within 0.5 s"
    expect(err).to match(/the shutdown timeout of 0\.5 s passed before all was sent; profiles lost: 1; last error: 127\.0\.0\.1:#{server.port} /)
      .or include(unanswered).and(include("it may have been stored and is not sent again"))
    expect(err[/^last_error: .*/]).to include("127.0.0.1:#{server.port}")
  ensure
    server&.stop
  end

  it "keeps what is logged after it from Ruby" do
    skip "needs rake compile:testing" unless StressProgram.built?
    out = run_to_the_end(<<~RUBY, libraries: [StressProgram::TESTING_LIB])
      require "logger"
      require "rperf_push"
      RperfPush::Native.log_at_exit
      RperfPush.configure! do |config|
        config.server_address = "http://127.0.0.1:1"
        config.logger = Logger.new($stdout)
        config.shutdown_timeout = 0.1
      end
      Burner.sleep_without_gvl(0.05)
    RUBY
    expect(out).to include("profiles lost: 1")
  end
end
