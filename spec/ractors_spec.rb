# frozen_string_literal: true

require_relative "support/burner"
require_relative "support/stress_program"

# Other Ractors run beside the main one and its GVL. A job of the VM may run on any of them; what the profiler does there, it
# does in the main Ractor only.
RSpec.describe "Beside other Ractors", :interpreted do
  include StressProgram

  # Each GC of theirs leaves files to close: a job, which takes all other jobs along that wait just then. While the main
  # Ractor holds still for their GC, none of its own can run.
  collecting = <<~RUBY
    require "burner"
    $VERBOSE = nil
    Array.new(2) { Ractor.new { loop { 5.times { File.open("/dev/null") }; GC.start(full_mark: rand(10).zero?) } } }
    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  RUBY

  define_method(:collecting) { collecting }

  def on_testing_build(code)
    super("$:.unshift #{BurnerExtension.load_path.inspect}\n#{collecting}\n#{code}", env: { "RPERF_PUSH_TESTING_RACTORS" => "1" })
  end

  def configure(**options)
    settings = { backend: :directory, directory: tmpdir, directory_max_files: 5, **options }
    "RperfPush.configure! { |c| #{settings.map { |name, value| "c.#{name} = #{value.inspect}" }.join("; ")} }"
  end

  # The testing build aborts where a job works in another Ractor.
  %i[signal safepoint].each do |engine|
    it "does its work in the main one, engine #{engine}, and does all of it" do
      seen = on_testing_build(<<~RUBY)
        #{configure(frequency: 999, overhead_limit: 1, upload_interval: 0.05, engine:)}
        RperfPush.start(frequency: 999, mode: :wall) # a sleep burns nothing
        from = now
        flushed = (1..400).count do |i|
          eval("def fresh\#{i} = Burner.sleep_with_gvl(0.003); fresh\#{i}")
          i % 20 == 0 && RperfPush.flush(timeout: 60) && RperfPush.snapshot
        end
        names = RperfPush.stop[:aggregated_samples].flat_map(&:first).map(&:last).grep(/fresh/).uniq.size
        puts JSON.generate(seconds: now - from, flushed:, names:, elsewhere: RperfPush::Native.jobs_elsewhere, stats: RperfPush.stats)
      RUBY
      expect(seen[:elsewhere]).to be > 10
      expect(seen[:flushed]).to eq 20
      expect(seen[:names]).to be > 50
      expect(seen[:stats][:windows_closed]).to be > 25 # 20 are the flushes'; and more, which nobody asked for
      expect(seen[:stats]).to include(time_lost_ns: 0)
    end
  end

  it "hands log lines over in the main one, also when no collector is left to ask again" do
    seen = on_testing_build(<<~RUBY)
      lines = []
      logger = Object.new
      %i[info warn error].each { |level| logger.define_singleton_method(level) { |line| lines << [line, Ractor.current == Ractor.main] } }
      RperfPush.configure! { |c| c.backend = :directory; c.directory = #{tmpdir.inspect}; c.logger = logger }
      RperfPush.shutdown
      lines.clear # what was started, and how
      logged = 0
      end_of_all = now + 60
      until logged >= 50 && RperfPush::Native.jobs_elsewhere > 0 || now > end_of_all
        RperfPush::Native.log_from_outside
        logged += 1
        till = now + 30
        nil until lines.size >= logged || now > till
      end
      puts JSON.generate(lines:, logged:, elsewhere: RperfPush::Native.jobs_elsewhere)
    RUBY
    expect(seen[:elsewhere]).to be > 0
    expect(seen[:lines]).to eq([["[rperf-push] a line from outside", true]] * seen[:logged])
  end

  it "ends with the process" do
    seen = on_testing_build(<<~RUBY)
      #{configure(upload_interval: 0.05)}
      till = now + 60
      Burner.sleep_with_gvl(0.003) until RperfPush.stats[:windows_closed] > 1 || now > till
      at_exit { puts JSON.generate(windows: RperfPush.stats[:windows_closed], running: RperfPush.running?) }
    RUBY
    expect(seen).to match(windows: be > 1, running: true)
  end

  # What is not said to be safe is refused by Ruby itself.
  it "takes no call from them" do
    verbs = %w[configure{} configure!{} shutdown flush running? stats labels label(a:1) label(a:1){} start stop snapshot profile{}]
    code = verbs.map { |verb| <<~RUBY }.join
      ractor = Ractor.new { RperfPush.#{verb.sub("{}", " { }")}; :done }
      refused[#{verb.inspect}] = begin
        ractor.respond_to?(:value) ? ractor.value : ractor.take
      rescue Ractor::RemoteError => error
        error.cause.class.name
      end
    RUBY
    out, err, status = run_ruby(<<~RUBY)
      require "json"
      $VERBOSE = nil
      Thread.report_on_exception = false
      #{configure}
      refused = {}
      RperfPush.label(inherited: "yes") do
        #{code}
      end
      puts JSON.generate(refused:, labels: RperfPush.labels, running: RperfPush.running?, recording: RperfPush::Native.recording?)
    RUBY
    expect(status).to be_success, err
    seen = JSON.parse(out)
    expect(seen["refused"].keys).to eq(verbs)
    expect(seen["refused"].values).to all(eq("Ractor::UnsafeError").or(eq("Ractor::IsolationError")))
    expect(seen).to include("labels" => {}, "running" => true, "recording" => false)
  end
end
