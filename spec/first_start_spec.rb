# frozen_string_literal: true

require "json"

# The first start of a process runs Ruby code: it verifies that stacks are read rightly, and asks for all threads. There a signal
# handler or another thread may start or stop something else.
RSpec.describe "The first start of a process", :interpreted do
  # Runs the method `other` at the first call of the method `place`.
  prelude = <<~RUBY
    require "json"
    require "rperf_push"
    WAYS = { "in a handler" => ->(call) { call.call }, "on another thread" => ->(call) { Thread.new(&call).value } }
    def attempt
      yield
    rescue RuntimeError => e
      e.message
    end

    def during(place, way, other)
      met = nil
      probe = TracePoint.new(:call, :c_call) do |event|
        next if met || event.method_id != place
        met = []
        met << WAYS.fetch(way).call(-> { attempt(&other) })
      end
      probe.enable
      result = attempt { yield }
      probe.disable
      [met, result]
    end

    def configure = RperfPush.configure! { |config| config.directory, config.upload_interval = Dir.pwd, 60 }
    def work = (till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.02; nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till)
    def own_threads = Dir["/proc/self/task/*/comm"].filter_map { |file| File.read(file).chomp rescue nil }.grep(/\\Arpp-/)
    def own_threads_at_last = 100.times.find { own_threads.empty? || !sleep(0.1) } ? [] : own_threads
  RUBY

  def seen(prelude, code)
    out, err, status = run_ruby("Dir.chdir(#{tmpdir.inspect})\n#{prelude}#{code}\nRperfPush.shutdown\nputs JSON.generate([$seen, own_threads_at_last])")
    expect(status).to be_success, err
    JSON.parse(out)
  end

  places = { "verifies stacks" => :agrees?, "asks for threads" => :list }

  places.each do |title, place|
    ["in a handler", "on another thread"].each do |way|
      context "while it #{title}, #{way}" do
        it "is not stopped by a stop, as nothing runs yet" do
          expect(seen(prelude, <<~RUBY)).to eq([[[nil], true, "Hash", nil], []])
            $seen = during(:#{place}, "#{way}", -> { RperfPush.stop }) { RperfPush.start(mode: :wall) }
            work
            $seen += [RperfPush.stop.class.name, RperfPush.stop]
          RUBY
        end

        it "gives way to a start that is faster" do
          expect(seen(prelude, <<~RUBY)).to eq([[[true], "profiling on demand is running already", "Hash", nil], []])
            $seen = during(:#{place}, "#{way}", -> { RperfPush.start(mode: :wall) }) { RperfPush.start(mode: :wall) }
            work
            $seen += [RperfPush.stop.class.name, RperfPush.stop]
          RUBY
        end

        it "replaces what another configure has started" do
          expect(seen(prelude, <<~RUBY)).to eq([[[true], true, true, false], []])
            $seen = during(:#{place}, "#{way}", -> { configure }) { configure }
            work
            $seen << RperfPush.running?
            RperfPush.shutdown
            $seen << RperfPush.running?
          RUBY
        end

        it "goes on after a shutdown, as nothing ran yet" do
          expect(seen(prelude, <<~RUBY)).to eq([[[nil], true, true], []])
            $seen = during(:#{place}, "#{way}", -> { RperfPush.shutdown }) { configure } << RperfPush.running?
          RUBY
        end

        it "does not keep the program from tracing calls" do
          expect(seen(prelude, <<~RUBY)).to eq([[["Hash"], true], []])
            $seen = during(:#{place}, "#{way}", -> { RperfPush.trace { work }.class.name }) { RperfPush.start(mode: :wall) }
            RperfPush.stop
          RUBY
        end
      end
    end
  end

  ["in a handler", "on another thread"].each do |way|
    it "does not resume a deferred session that is stopped while a block asks for threads, #{way}" do
      expect(seen(prelude, <<~RUBY)).to eq([[["Hash"], 3, nil], []])
        RperfPush.start(mode: :wall, defer: true)
        $seen = during(:list, "#{way}", -> { RperfPush.stop.class.name }) { RperfPush.profile { work; 3 } }
        $seen << RperfPush.stop
      RUBY
    end
  end
end
