# frozen_string_literal: true

require "rperf_push"

# start's options that have to do with files, in programs of their own.
RSpec.describe "RperfPush.start", :once, :short do
  include TemporaryFolder
  include RubyProgram

  work = "def work = 3_000_000.times { |i| i * i }\n"

  define_method(:run) do |code|
    out, err, status = run_ruby("#{work}#{code}")
    expect(status).to be_success, err
    [out, err]
  end

  it "writes its output when the block ends, and at stop" do
    run("RperfPush.start(output: '#{tmpdir}/a.json') { work }
         RperfPush.start(output: '#{tmpdir}/b.dat', format: :text); work; RperfPush.stop
         RperfPush.start; RperfPush.stop")
    expect(RperfPush.load("#{tmpdir}/a.json")[:aggregated_samples]).not_to be_empty
    expect(File.read("#{tmpdir}/b.dat")).to start_with("Total: ")
    expect(Dir.children(tmpdir)).to match_array(%w[a.json b.dat])
  end

  it "says with verbose what was sampled" do
    _, err = run("RperfPush.start(verbose: true) { work }")
    expect(err).to match(/\A\[RperfPush\] mode=cpu frequency=1000Hz\n\[RperfPush\] sampling: \d+ calls, [\d.]+ms total/)
    expect(err).to include("[RperfPush] top ", "by flat:", "by cum:")
  end

  it "says what the process used meanwhile, anew after a snapshot that clears" do
    out, = run("GC.disable # none but the one that is asked for
                RperfPush.start; Array.new(1000) { Object.new }; GC.start
                first = RperfPush.snapshot(clear: true); second = RperfPush.stop
                p [first, second].map { |data| data[:gc_stats].values_at(:major_count, :allocated_objects) }, first[:maxrss_mb], first.key?(:user_ns)")
    (first, second), maxrss_mb, user = out.lines.map { |line| eval(line) }
    expect([first[0], first[1] >= 1000, second[0], second[1] < 1000, maxrss_mb.positive?, user]).to eq([1, true, 0, true, true, true])
  end

  it "takes rperf's signal:, and refuses what is none, whatever else is right" do
    out, = run(<<~RUBY)
      [false, 40].each { |signal| p RperfPush::StartOptions.engine_of(signal), RperfPush.start(signal:) { work }[:aggregated_samples].any? }
      ["x", 0, -1].each { |signal| RperfPush.start(signal:) rescue puts $!.message }
      RperfPush.start(output: "x", format: :xml) rescue puts $!.message
      p RperfPush.stop
    RUBY
    wanted = [":safepoint", "true", ":signal", "true", 'signal must be nil, false or a signal\'s number, got "x"',
              "signal must be nil, false or a signal's number, got 0", "signal must be nil, false or a signal's number, got -1",
              "format must be one of :json, :pprof, :collapsed, :text, got :xml", "nil"]
    expect(out.lines(chomp: true)).to eq(wanted)
  end

  it "keeps both times of captures that stay apart, and of their sums" do
    out, = run(<<~RUBY)
      data = RperfPush.start(mode: [:cpu, :wall], aggregate: false) { work; sleep 0.05; work }
      p data[:raw_samples].size == data[:raw_values][:wall].size, data[:aggregated_samples].size == data[:values][:wall].size,
        data[:raw_values][:wall].sum == data[:values][:wall].sum, data[:raw_samples].sum { _2 } == data[:aggregated_samples].sum { _2 }
    RUBY
    expect(out).to eq("true\n" * 4)
  end

  it "labels and runs the block of profile while only the continuous session runs, and raises when nothing does" do
    out, = run(<<~RUBY)
      RperfPush.profile(a: 1) { } rescue puts $!.class
      RperfPush.configure! { |config| config.directory = "#{tmpdir}/d" }
      p RperfPush.profile(a: 1) { RperfPush.labels }, RperfPush.profile { 7 }, RperfPush.labels
    RUBY
    expect(out.lines(chomp: true)).to eq(["RuntimeError", '{a: "1"}', "7", "{}"]).or eq(["RuntimeError", '{:a=>"1"}', "7", "{}"])
  end

  # A session that other programs carry on, or that `record` asks for, is the one that was asked for.
  it "says the same in the environment of other processes" do
    flags = [true, false, nil, 1].product(%i[lines aggregate defer class_labels])
    flags.product([:cpu, %i[cpu wall alloc]], [nil, 7], %i[auto safepoint]).each do |(value, flag), mode, alloc_interval, engine|
      options = { frequency: 99, mode:, lines: true, aggregate: false, defer: false, engine:, alloc_interval:, class_labels: false, flag => value }
      read = RperfPush::StartOptions.of_text(RperfPush::StartOptions.in_text(options))
      expect(RperfPush::StartOptions.checked(**read)).to eq(RperfPush::StartOptions.checked(**options, flag => value ? true : false))
    end
  end
end
