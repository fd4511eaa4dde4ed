# frozen_string_literal: true

require "json"

# start, stop, snapshot and profile, beside the continuous session and without it. Every time here is CPU time that the
# program read from its own thread's clock, so that a busy machine does not matter.
RSpec.describe "profiling on demand" do
  prelude = <<~RUBY
    require "rperf_push"
    require "json"
    def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    def burn(seconds)
      from = cpu
      nil while cpu - from < seconds
    end
    def more(seconds) = burn(seconds)
    def sum(data) = data[:aggregated_samples].sum { |_, weight| weight } / 1e9
    def with(data, label) = data[:aggregated_samples].sum { |frames, weight| frames.any? { |f| f[1] == label } ? weight : 0 } / 1e9
  RUBY

  define_method(:prelude) { prelude }

  def result_of(code, continuous: false)
    folder = tmpdir
    start = <<~RUBY
      RperfPush.configure! do |config|
        config.backend = :directory
        config.directory = #{folder.inspect}
        config.upload_interval = 1
      end
    RUBY
    stdout, stderr, status = run_ruby("#{prelude}#{start if continuous}puts JSON.generate(begin\n#{code}\nend)")
    expect(status).to be_success, stderr
    JSON.parse(stdout, symbolize_names: true)
  end

  it "returns the data of the block, in the documented shape" do
    data = result_of("RperfPush.start(mode: :cpu, frequency: 500) { burn(0.2); sleep 0.05 }")
    expect(data).to include(mode: "cpu", frequency: 500, detected_thread_count: 1)
    expect(data[:start_time_ns]).to be_within(600 * 10**9).of(Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond))
    expect(data[:duration_ns]).to be > 200_000_000
    expect(data[:label_sets].first).to eq({})
    frames, weight, seq, labels = data[:aggregated_samples].max_by { |sample| sample[1] }
    expect(frames.first.size).to eq 2
    expect(frames.map(&:last)).to include("Object#burn")
    expect(frames.last.last).to eq "<main>"
    expect([weight.class, seq, labels]).to eq [Integer, 1, 0]
    expect(data[:aggregated_samples].sum { |sample| sample[1] } / 1e9).to be_within(0.01).of(0.2)
  end

  it "gives CPU as the weight and wall time beside it, with lines" do
    data = result_of("RperfPush.start(mode: [:cpu, :wall], lines: true) { burn(0.1); sleep 0.2 }")
    walls = data[:values][:wall]
    expect(walls.size).to eq data[:aggregated_samples].size
    expect(walls.sum).to be_within(data[:duration_ns] / 100).of(data[:duration_ns])
    expect(data[:aggregated_samples].flat_map(&:first).map(&:size).uniq).to eq [3]
    blocked = data[:label_sets].index({ "%GVL": "blocked" })
    slept = data[:aggregated_samples].each_index.sum { |i| data[:aggregated_samples][i][3] == blocked ? walls[i] : 0 }
    expect(slept / 1e9).to be_within(0.05).of(0.2)
  end

  [false, true].each do |continuous|
    context(continuous ? "beside the continuous session" : "alone") do
      it "accounts short profile blocks of a deferred session within 10 %" do
        result = result_of(<<~RUBY, continuous:)
          RperfPush.start(frequency: 99, defer: true)
          inside = { "a" => 0.0, "b" => 0.0 }
          500.times do |i|
            key = i % 4 == 0 ? "a" : "b"
            RperfPush.profile(part: key) do
              from = cpu
              key == "a" ? more(0.003) : burn(0.003)
              inside[key] += cpu - from
            end
            burn(0.001)
          end
          data = RperfPush.stop
          labelled = ->(key) { data[:aggregated_samples].sum { |_, w, _, l| data[:label_sets][l][:part] == key ? w : 0 } / 1e9 }
          { truth: inside.values.sum, seen: sum(data), a: [inside["a"], labelled.("a")], b: [inside["b"], labelled.("b")],
            samples: data[:sampling_count] }
        RUBY
        expect(result[:seen]).to be_within(result[:truth] * 0.1).of(result[:truth])
        result.values_at(:a, :b).each { |truth, seen| expect(seen).to be_within(truth * 0.1).of(truth) }
        expect(result[:samples]).to be > 50
      end

      it "takes snapshots without disturbing, and with clear: begins anew" do
        first, second, last = result_of(<<~RUBY, continuous:)
          RperfPush.start(mode: :cpu)
          burn(0.2)
          first = sum(RperfPush.snapshot)
          burn(0.2)
          second = sum(RperfPush.snapshot(clear: true))
          burn(0.2)
          [first, second, sum(RperfPush.stop)]
        RUBY
        expect(first).to be_within(0.02).of(0.2)
        expect(second).to be_within(0.02).of(0.4)
        expect(last).to be_within(0.02).of(0.2)
      end
    end
  end

  it "leaves the continuous session its names, however many windows it has itself meanwhile" do
    names = result_of(<<~RUBY)
      require "zlib"
      RperfPush.configure! { |c| c.backend = :directory; c.directory = #{tmpdir.inspect}; c.upload_interval = 3600 }
      def only_at_first = burn(0.1)
      only_at_first
      RperfPush.start
      8.times { burn(0.02); RperfPush.snapshot }
      RperfPush.shutdown
      Dir[#{File.join(tmpdir, "*").inspect}].flat_map { |file| Zlib.gunzip(File.binread(file)).scan(/Object#only_at_first/) }
    RUBY
    expect(names).to eq ["Object#only_at_first"]
  end

  it "sees 100 short threads whole" do
    truth, seen = result_of(<<~RUBY)
      spent = Queue.new
      data = RperfPush.start(frequency: 99, mode: :cpu) do
        100.times { Thread.new { burn(0.005); spent << cpu }.join }
      end
      [Array.new(100) { spent.pop }.sum, with(data, "Object#burn") + with(data, "[unknown]")]
    RUBY
    expect(seen).to be_within(truth * 0.1).of(truth)
  end

  it "keeps captures apart on wish, and sums them as well" do
    data = result_of("RperfPush.start(aggregate: false, mode: :cpu) { burn(0.2) }")
    expect(data[:raw_samples].size).to be > 10
    expect(data[:raw_samples].sum { |s| s[1] }).to eq(data[:aggregated_samples].sum { |s| s[1] })
  end

  it "leaves time outside of profile blocks out of a deferred session" do
    data = result_of("RperfPush.start(defer: true, mode: :wall); burn(0.1); sleep 0.1; RperfPush.stop")
    expect(data[:aggregated_samples]).to eq []
  end

  it "says what is wrong, and leaves a running session unharmed" do
    messages = result_of(<<~RUBY)
      failing = ->(&block) { begin; block.call; nil; rescue => error; [error.class.name, error.message]; end }
      before = [failing.() { RperfPush.profile { } }, failing.() { RperfPush.profile },
                failing.() { RperfPush.start(mode: :fast) }, failing.() { RperfPush.start(frequency: 0) },
                failing.() { RperfPush.start(frequency: "99") }]
      none = [RperfPush.stop, RperfPush.snapshot]
      RperfPush.start(mode: :cpu)
      burn(0.1)
      second = failing.() { RperfPush.start }
      { before:, none:, second:, seen: sum(RperfPush.stop) }
    RUBY
    expect(messages[:before].map(&:first)).to eq %w[RuntimeError ArgumentError ArgumentError ArgumentError ArgumentError]
    expect(messages[:before][2].last).to eq "mode must be :cpu, :wall or [:cpu, :wall], got :fast"
    expect(messages[:none]).to eq [nil, nil]
    expect(messages[:second].first).to eq "RuntimeError"
    expect(messages[:seen]).to be_within(0.01).of(0.1)
  end
end
