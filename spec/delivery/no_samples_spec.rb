# frozen_string_literal: true

require_relative "../support/burner"

# Loud when silent: a process that works without giving samples.
RSpec.describe "A process that gives no samples", :once, :waiting do
  # @return [Array(String, String)] what it prints, and its log
  def run(code)
    out, log, status = run_ruby(code, arguments: ["-I", BurnerExtension.load_path],
                                      env: { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir,
                                             "RPERF_PUSH_ENGINE" => "safepoint", "RPERF_PUSH_UPLOAD_INTERVAL" => "0.2" })
    raise log unless status.success?

    [out, log]
  end

  a_tenth = 0.1 # of a core: who gets less is not said to work

  # C code that keeps the GVL passes no safepoint. On a machine so busy that the program gets no tenth of a core, it may seem to wait.
  it "says so once when it works all the same, and when samples come again" do
    share, log = run(<<~RUBY)
      require "burner"
      RperfPush.configure!
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Burner.heavy(4.5)
      print 4.5 / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start)
      finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.5
      Math.sqrt(rand) until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish
      RperfPush.shutdown
    RUBY
    told = match([/no sample came for [\d.]+ s, while the process used/, /samples come again, after [\d.]+ s without one/])
    expect(log.lines).to share.to_f > 2 * a_tenth ? told : told.or(eq([]))
  end

  it "says nothing when it only waits" do
    expect(run("RperfPush.configure!; sleep 1.5; RperfPush.shutdown")).to eq(["", ""])
  end
end
