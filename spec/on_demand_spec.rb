# frozen_string_literal: true

require "json"

# start, stop, snapshot and profile, beside the continuous session and without it. Every time here is CPU time that the
# program read from its own thread's clock, so that a busy machine does not matter.
RSpec.describe "profiling on demand", :interpreted do
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

  it "returns the data of the block, in the documented shape", :measures do
    data = result_of("RperfPush.start(mode: :cpu, frequency: 500) { burn(0.2); sleep 0.05 }")
    expect(data).to include(mode: "cpu", frequency: 500, detected_thread_count: 1)
    expect(data[:start_time_ns]).to be_within(600 * (10**9)).of(Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond))
    expect(data[:duration_ns]).to be > 200_000_000
    expect(data[:label_sets].first).to eq({})
    frames, weight, seq, labels = data[:aggregated_samples].max_by { |sample| sample[1] }
    expect(frames.first.size).to eq 2
    expect(frames.map(&:last)).to include("Object#burn")
    expect(frames.last.last).to eq "<main>"
    expect([weight.class, seq, labels]).to eq [Integer, 1, 0]
    expect(data[:aggregated_samples].sum { |sample| sample[1] } / 1e9).to be_within(0.01).of(0.2)
  end

  it "gives CPU as the weight and wall time beside it, with lines", :measures do
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
      it "accounts short profile blocks of a deferred session within 10 %, and each label within the sampling error", :measures do
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
        # Blocks are shorter than the kernel's tick: each tick finds another one.
        error = sampling_error(result[:a].first * 1e9, all: result[:truth] * 1e9, alike: 1) / 1e9
        result.values_at(:a, :b).each { |truth, seen| expect(seen).to be_within((truth * 0.02) + error).of(truth) }
        expect(result[:samples]).to be > 50
      end

      it "takes snapshots without disturbing, and with clear: begins anew", :measures do
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

  it "shows what eval runs in a method at the line of the call, and of another file without a line" do
    data = result_of(<<~'RUBY')
      eval(<<~'CODE', TOPLEVEL_BINDING, "/calc.rb", 1)
        def with_binding
          text = "\n\n\n\n\nburn(0.12)"

          eval(text, binding)
        end
        def within = eval("eval('burn(0.12)')")
        def named
          eval("burn(0.12)", binding, "/other.rb", 77)
        end
        def same
          eval("burn(0.12)", binding, "/calc.rb", 5000)
        end
      CODE
      RperfPush.start(lines: true, frequency: 250) { with_binding; within; named; same }
    RUBY
    places = data[:aggregated_samples].flat_map(&:first).uniq.select { |path, label,| path == "/calc.rb" && label.start_with?("Object#") }
    expect(places.map { |_, label, line| [label.delete_prefix("Object#"), line] })
      .to contain_exactly(["with_binding", 4], ["within", 6], ["named", 0], ["named", 8], ["same", 5000], ["same", 11])
  end

  it "leaves the continuous session its names, however many windows it has itself meanwhile" do
    names = result_of(<<~RUBY)
      require "zlib"
      RperfPush.configure! { |c| c.backend = :directory; c.directory = #{tmpdir.inspect}; c.upload_interval = 3600 }
      def only_at_first = burn(0.25)
      only_at_first
      RperfPush.start
      8.times { burn(0.02); RperfPush.snapshot }
      RperfPush.shutdown
      Dir[#{File.join(tmpdir, "*").inspect}].flat_map { |file| Zlib.gunzip(File.binread(file)).scan(/Object#only_at_first/) }
    RUBY
    expect(names).to eq ["Object#only_at_first"]
  end

  it "sees 100 short threads whole", :measures do
    truth, seen = result_of(<<~RUBY)
      spent = Queue.new
      data = RperfPush.start(frequency: 99, mode: :cpu) do
        100.times { Thread.new { burn(0.005); spent << cpu }.join }
      end
      [Array.new(100) { spent.pop }.sum, with(data, "Object#burn") + with(data, "[unknown]")]
    RUBY
    expect(seen).to be_within(truth * 0.2).of(truth) # some fifty samples, in bursts of four: one deviation is 4 %
  end

  it "runs as many sessions side by side as there are places, each with its own frequency, windows and end", :measures do
    result = result_of(<<~RUBY, continuous: true)
      begin_one = ->(who, hz) { RperfPush::Native.start(who, 1, hz, false, true, false, 0, 0, false, nil, false) }
      attached = RperfPush::OnDemand::RECORDED + 1
      numbers = [1, 2, attached, attached, attached, attached].each_with_index.map { |who, i| begin_one.(who, 100 * (i + 1)) }
      refused = [1, 2, attached].map { |who| begin; begin_one.(who, 99); rescue RuntimeError; true; end }
      burnt = numbers.map do |number|
        burn(0.1)
        RperfPush::Native.stop(number)
      end
      again = RperfPush::Native.stop(numbers.last)
      burn(0.1)
      { numbers:, refused:, again:, running: RperfPush.running?, sums: burnt.map { |data| sum(data) }, frequencies: burnt.map { |data| data[:frequency] } }
    RUBY
    expect(result).to include(numbers: [1, 2, 3, 4, 5, 6], refused: [true] * 3, again: nil, running: true,
                              frequencies: [100, 200, 300, 400, 500, 600])
    result[:sums].each_with_index { |sum, i| expect(sum).to be_within(0.03).of(0.1 * (i + 1)) }
  end

  it "keeps captures apart on wish, and sums them as well" do
    data = result_of("RperfPush.start(aggregate: false, mode: :cpu) { burn(0.2) }")
    expect(data[:raw_samples].size).to be > 10
    expect(data[:trigger_count]).to be > 5
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
    expect(messages[:before][2].last).to start_with("mode must be :cpu, :wall,").and end_with("got :fast")
    expect(messages[:none]).to eq [nil, nil]
    expect(messages[:second].first).to eq "RuntimeError"
    expect(messages[:seen]).to be_within(0.05).of(0.1)
  end

  describe "in forked children" do
    define_method(:answers) do |code|
      out, err, status = run_ruby("#{prelude}\ndef say(*values) = ($stdout.puts(JSON.generate(values)); $stdout.flush)\n#{code}",
                                  env: { "TMPDIR" => tmpdir })
      expect([status, err]).to match([be_success, ""])
      expect(Dir["#{tmpdir}/**/session-*"]).to eq([])
      out.lines.map { |line| JSON.parse(line) }
    end

    # Beside a thread that computes, each file that is read costs a turn of the GVL. Once a fork took a minute.
    it "needs nothing loaded for it, neither before nor at its end" do
      answers = answers(<<~RUBY)
        require "json" # of this program
        at_exit { say $LOADED_FEATURES - $before } # comes after ours
        RperfPush.start
        $before = $LOADED_FEATURES.dup
        Process.wait(fork { burn(0.05) })
        say $LOADED_FEATURES - $before
        say RperfPush.stop[:label_sets].count { |set| set.key?(:"%pid") }
      RUBY
      expect(answers).to match([[[]], [[]], [be_positive], [[]]])
    end

    it "is carried on as it was begun, and what those recorded that have ended is the parent's in the end" do
      answers = answers(<<~RUBY)
        RperfPush.start(frequency: 770, mode: %i[wall cpu], lines: true)
        burn(0.3)
        child = fork do
          burn(0.3)
          data = RperfPush.snapshot
          say data[:frequency], data[:mode], data[:aggregated_samples].first[0].first.size
          Process.wait(fork { burn(0.3); say Process.pid })
          say Process.pid
        end
        Process.wait(child)
        Process.wait(fork { exit!(0) })
        data = RperfPush.stop
        cpu = data[:aggregated_samples].group_by { |row| data[:label_sets][row[3]][:"%pid"] }
        say(cpu.transform_values { |rows| rows.sum { |row| row[1] } / 1e9 }, RperfPush.stop)
      RUBY
      shape, grandchild, child, (sums, afterwards) = answers
      expect(shape).to eq([770, %w[cpu wall], 3])
      expect(sums).to match("" => be_between(0.29, 0.58), grandchild.first.to_s => be_between(0.29, 0.58), child.first.to_s => be_between(0.29, 0.58))
      expect(afterwards).to be_nil
    end

    it "has what children recorded before exec, once, also where it failed first" do
      child, other, sums = answers(<<~RUBY)
        RperfPush.start
        child = fork do
          burn(0.3)
          begin
            exec("no-such-program")
          rescue Errno::ENOENT
            burn(0.3)
          end
          exec("true")
        end
        Process.wait(child)
        other = fork { burn(0.3); exec("no-such-program") rescue nil }
        Process.wait(other)
        data = RperfPush.stop
        cpu = data[:aggregated_samples].group_by { |row| data[:label_sets][row[3]][:"%pid"] }
        say child
        say other
        say(cpu.transform_values { |rows| rows.sum { |row| row[1] } / 1e9 })
      RUBY
      expect(sums.first).to include(child.first.to_s => be_between(0.59, 0.9), other.first.to_s => be_between(0.29, 0.58))
    end

    it "is the parent's too, what a child has recorded that stops it itself" do
      answers = answers(<<~RUBY)
        RperfPush.start(frequency: 250)
        burn(0.12)
        Process.wait(fork do
          burn(0.2)
          data = RperfPush.stop
          say Process.pid, sum(data), data[:process_count], data.values_at(:pid, :ppid) == [Process.pid, Process.ppid], RperfPush.stop
          burn(0.1)
        end)
        data = RperfPush.stop
        cpu = data[:aggregated_samples].group_by { |row| data[:label_sets][row[3]][:"%pid"] }
        say(cpu.transform_values { |rows| rows.sum { |row| row[1] } / 1e9 }, data.values_at(:process_count, :pid, :ppid) == [2, Process.pid, Process.ppid],
            data[:total_duration_ns] - data[:duration_ns])
      RUBY
      (pid, own, count, is_itself, again), (sums, is_parent, more_ns) = answers
      expect([count, is_itself, again]).to eq([1, true, nil])
      expect(own).to be_between(0.19, 0.38)
      expect(sums.keys).to contain_exactly("", pid.to_s)
      expect(sums[pid.to_s]).to be_within(0.001).of(own)
      expect(is_parent).to be(true)
      expect(more_ns).to be_between(190_000_000, 5_000_000_000) # how long the child was recorded
    end

    it "samples the blocks of the child only, where it is deferred" do
      (child, total), = answers(<<~RUBY).last(1)
        RperfPush.start(defer: true)
        reader, writer = IO.pipe
        Process.wait(fork do
          burn(0.4)
          RperfPush.profile { burn(0.3) }
          writer.puts(sum(RperfPush.snapshot))
        end)
        writer.close
        say(reader.gets.to_f, sum(RperfPush.stop))
      RUBY
      expect(child).to be_between(0.24, 0.5) # a snapshot keeps time for which there were too few samples for later (core/profile/shares.h)
      expect(total).to be_between(0.29, 0.5)
    end

    it "gives way to one that the child begins itself, and is not carried on with inherit: false" do
      expect(answers(<<~RUBY)).to match([[50, "RuntimeError", nil], [true, 99], [false, nil]])
        RperfPush.start(frequency: 99)
        Process.wait(fork do
          RperfPush.start(frequency: 50, inherit: false)
          again = begin RperfPush.start; rescue => e; e.class.name; end
          say RperfPush.stop[:frequency], again, RperfPush.stop
        end)
        say RperfPush::Native.recording?, RperfPush.stop[:frequency]
        RperfPush.start(frequency: 99, inherit: false)
        Process.wait(fork { say RperfPush::Native.recording?, RperfPush.stop })
      RUBY
    end

    it "is carried on alone: what others record is of the parent" do
      expect(answers(<<~RUBY)).to match([[nil, nil, nil, 50, true], [50, true, true, nil]])
        others = [RperfPush::OnDemand::RECORDED, RperfPush::OnDemand::RECORDED + 1]
        others.each { |number| RperfPush::Native.start(number, 1, 99, false, true, false, 0, 0, false, nil, true) }
        Process.wait(fork { say(*others.map { |number| RperfPush::Native.stop(number) }, RperfPush.stop, 50, !RperfPush::Native.recording?) })
        RperfPush.start(frequency: 50)
        answers = IO.popen("-") { |child| child ? child.read : others.each { |number| print RperfPush::Native.stop(number).inspect } && nil }
        say RperfPush.stop[:frequency], *others.map { |number| RperfPush::Native.stop(number).is_a?(Hash) }, (answers unless answers == "nilnil")
      RUBY
    end

    it "goes on in ten generations, and leaves no folder where the program ends without asking" do
      (generations,) = answers(<<~RUBY).last
        RperfPush.start(frequency: 99)
        reader, writer = IO.pipe
        descend = ->(left) do
          burn(0.02)
          writer.puts(RperfPush.snapshot[:frequency])
          Process.wait(fork { descend.(left - 1) }) if left > 1
        end
        descend.(10)
        writer.close
        say reader.read.lines.map(&:to_i)
      RUBY
      expect(generations).to eq([99] * 10)
    end
  end

  it "sees all of a forked child that has begun threads before it, as the parent had one" do
    out, err, status = run_ruby(<<~RUBY)
      #{prelude}
      RperfPush.start(frequency: 99)
      RperfPush.stop
      Process.wait(fork do
        Thread.new { nil }.join
        other = Thread.new { sleep }
        data = RperfPush.start(frequency: 99) { burn(0.3) }
        other.kill.join
        print sum(data)
      end)
      exit($?.success?)
    RUBY
    expect(status).to be_success, err
    expect(out.to_f).to be_between(0.29, 0.5)
  end
end
