# frozen_string_literal: true

require "zlib"
require_relative "support/burner"
require_relative "support/stress_program"

# A session that nobody ended ends with the process, in order: when Ruby is gone, no thread of the profiler is left and no
# timer's signal does any harm. Burner.linger gives them the time to show.
RSpec.describe "The end of a process" do
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
      Burner.heavy(0.05)
    RUBY
    expect(out).to include("profiles lost: 1")
  end
end
