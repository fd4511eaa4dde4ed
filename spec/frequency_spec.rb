# frozen_string_literal: true

require "rperf_push"

# The kernel's tick limits how often a CPU timer expires: a thousand samples a second are asked for, and a quarter of it comes.
RSpec.describe "the frequency that is reached", :interpreted do
  include CommandLine
  include TemporaryFolder

  def session(**options)
    stdout, stderr, status = run_ruby(<<~RUBY)
      data = RperfPush.start(**#{options.inspect}) { 1 }
      RperfPush.configure! { |config| config.backend = :directory; config.directory = "#{tmpdir}"; config.frequency = #{options.fetch(:frequency, 1000)}
                                      config.engine = #{options.fetch(:engine, :auto).inspect}; config.overhead_limit = 1 }
      stats = RperfPush.stats
      p [data[:frequency], data[:effective_frequency], stats[:engine], stats[:kernel_tick_ns], stats[:effective_frequency].round]
    RUBY
    expect(status).to be_success, stderr
    eval(stdout)
  end

  it "is in the data, and in the stats: with engine signal one sample for each of the kernel's ticks at the most" do
    asked, reached, engine, tick_ns, stat = session(frequency: 1000)
    skip "no engine signal here" unless engine == "signal"
    expect(asked).to eq(1000)
    expect([reached, stat]).to all(eq([1000, (1e9 / tick_ns).round].min))
    expect(session(frequency: 10)[1]).to eq(10)
  end

  it "is what was asked for with engine safepoint" do
    expect(session(frequency: 1000, engine: :safepoint).values_at(1, 4)).to eq([1000, 1000])
  end

  def profile(effective)
    { mode: :cpu, frequency: 1000, **(effective ? { effective_frequency: effective } : {}), sampling_count: 240, start_time_ns: 1, duration_ns: 1_000_000_000,
      aggregated_samples: [[[["a.rb", "A#work"]], 1_000_000_000, 1, 0]], label_sets: [{}] }
  end

  it "is in the header and in -v, with the reason, where it is less" do
    header = ->(effective) { RperfPush::Text.header(profile(effective)) }
    expect(header.(250)).to eq("Total: 1000.0ms (cpu)\nSamples: 240, Frequency: 1000Hz\nReached: 250Hz of CPU time, as the kernel ticks every 4 ms\n")
    expect(RperfPush::Verbose.text(profile(250)).lines.last).to eq("[RperfPush] Reached: 250Hz of CPU time, as the kernel ticks every 4 ms\n")
    expect([header.(1000), header.(nil)]).to all(end_with("Frequency: 1000Hz\n"))
  end

  %w[p.json p.json.gz p.pb.gz].each do |name|
    it "is kept in #{name}" do
      RperfPush.save("#{tmpdir}/#{name}", profile(250))
      expect(RperfPush.load("#{tmpdir}/#{name}")).to include(frequency: 1000, effective_frequency: 250)
    end
  end

  it "is the least of merged ones, and in the file of a recorded session" do
    expect(RperfPush::Merge.new.add(profile(250)).add(profile(100)).add(profile(nil)).data).to include(frequency: 1000, effective_frequency: 100)
    recorded = rperf_push("record", "--engine", "safepoint", "-o", "#{tmpdir}/r.json", RbConfig.ruby, "-e", "1_000_000.times { 1 + 1 }")
    expect(recorded.status).to eq(0), recorded.err
    expect(RperfPush.load("#{tmpdir}/r.json")).to include(frequency: 1000, effective_frequency: 1000)
  end
end
