# frozen_string_literal: true

require_relative "../support/burner"

# Loud when silent: a process that works without giving samples.
RSpec.describe "A process that gives no samples" do
  def log_of(code)
    _, log, status = run_ruby(code, arguments: ["-I", BurnerExtension.load_path],
                                    env: { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir,
                                           "RPERF_PUSH_ENGINE" => "safepoint", "RPERF_PUSH_UPLOAD_INTERVAL" => "0.2" })
    raise log unless status.success?

    log
  end

  # C code that keeps the GVL passes no safepoint.
  it "says so once when it works all the same, and when samples come again" do
    log = log_of(<<~RUBY)
      require "burner"
      RperfPush.configure!
      Burner.heavy(4.5)
      finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.5
      Math.sqrt(rand) until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish
      RperfPush.shutdown
    RUBY
    expect(log.lines).to match([/no sample came for [\d.]+ s, while the process used/, /samples come again, after [\d.]+ s without one/])
  end

  it "says nothing when it only waits" do
    expect(log_of("RperfPush.configure!; sleep 1.5; RperfPush.shutdown")).to eq("")
  end
end
