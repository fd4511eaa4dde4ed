# frozen_string_literal: true

require "rperf_push"
require_relative "support/stress_program"

# Mode heap: of the objects born in a session, those that were alive at the last GC. What is watched is neither kept alive nor mistaken.
RSpec.describe "Live heap", :interpreted do
  # @return [Hash] what the program prints as JSON
  def run(code, env: {}, arguments: [])
    out, log, status = run_ruby(<<~RUBY, env:, arguments: ["-W0", "-rjson", *arguments])
      class Kept; end
      class Gone; end
      def keep(count) = Array.new(count) { Kept.new }
      def waste(count) = count.times { Gone.new }
      # No reference is left where the GC looks for some: what is made below is above the stack of what follows.
      def below(depth = 60, &block) = depth.zero? ? block.call && nil : below(depth - 1, &block)
      def collect = below { GC.start }
      def rows(data) = data[:aggregated_samples].map { |frames, objects, thread, set| [frames, objects, thread, data[:label_sets][set]] }
      def alive(data, name) = rows(data).sum { |frames, objects,| frames[0][0, 2] == ["<class>", name] ? objects : 0 }
      def watched(**options, &) = RperfPush.start(mode: :heap, alloc_interval: 1, lines: true, **options, &)
      #{code}
    RUBY
    raise "#{log}#{status}" unless status.success?

    JSON.parse(out, symbolize_names: true)
  end

  a_few = 3 # references that the GC finds on a stack by chance

  it "counts who is alive, to the object, by class, method and line, with the GCs survived" do
    seen = run(<<~RUBY)
      data = watched do
        below { $kept = keep(1_000); waste(5_000) }
        collect
        2.times { collect }
      end
      kept = rows(data).select { |frames,| frames[0][1] == "Kept" }
      print JSON.generate(kept:, gone: alive(data, "Gone"), mode: data[:mode], space: data[:values][:inuse_space].sum, units: data[:units],
                          sum: rows(data).sum { _2 }, threads: data[:detected_thread_count])
    RUBY
    expect(seen[:kept].sum { |_, objects,| objects }).to eq(1_000)
    expect(seen[:gone]).to be <= a_few
    expect(seen).to include(mode: "heap", threads: 0, units: { inuse_objects: "count", inuse_space: "bytes" })
    expect(seen[:space]).to be >= 40 * seen[:sum]
    frames, _, thread, labels = seen[:kept].first
    expect(frames.map { |_, label| label }).to include("Object#keep")
    expect(frames.find { |_, label| label == "Object#keep" }[2]).to be > 0
    expect([thread, labels.keys]).to eq([0, [:gcs]])
    expect(%w[2-3 4-7]).to include(labels[:gcs])
  end

  it "does not count what no GC has looked at yet, and discards what dies later" do
    seen = run(<<~RUBY)
      watched
      GC.disable
      below { $kept = keep(500) }
      young = alive(RperfPush.snapshot, "Kept")
      GC.enable
      collect
      once = alive(RperfPush.snapshot, "Kept")
      again = alive(RperfPush.snapshot, "Kept")
      cleared = alive(RperfPush.snapshot(clear: true), "Kept")
      below { $kept = nil }
      collect
      print JSON.generate(young:, once:, again:, cleared:, last: alive(RperfPush.stop, "Kept"))
    RUBY
    expect(seen).to include(young: 0, once: 500, again: 500, cleared: 500)
    expect(seen[:last]).to be <= a_few
  end

  it "keeps nothing alive" do
    seen = run(<<~RUBY)
      registry = ObjectSpace::WeakMap.new
      watched
      below { 2_000.times { object = Gone.new; registry[object] = true } }
      singletons = ObjectSpace::WeakMap.new
      below do
        500.times do
          object = Object.new
          def object.make = @made = Gone.new
          object.make
          singletons[object] = true
        end
      end
      collect
      collect
      print JSON.generate(objects: ObjectSpace.each_object(Gone).count, registered: registry.size)
    RUBY
    # Methods of single objects are marked for three windows, and what these hold with them.
    expect(seen[:registered]).to be <= a_few
    expect(seen[:objects]).to be <= 500 + a_few
  end

  it "follows objects that move" do
    skip "no compaction here" unless GC.respond_to?(:compact)
    seen = run(<<~RUBY)
      data = watched do
        below { $kept = keep(3_000); waste(3_000) }
        collect
        GC.verify_compaction_references(expand_heap: true, toward: :empty)
        below { $kept.select!.with_index { |_, index| index.even? } }
        GC.compact
        $moved = GC.latest_compact_info[:moved].sum { |_, count| count } # a later GC may find nothing left to move
        GC.auto_compact = true
        2.times { collect }
      end
      print JSON.generate(kept: alive(data, "Kept"), gone: alive(data, "Gone"), stats: RperfPush.stats.slice(:heap_losses), moved: $moved)
    RUBY
    expect(seen[:moved]).to be > 0
    expect(seen[:kept]).to be_between(1_500, 1_500 + a_few)
    expect(seen[:gone]).to be <= a_few
    expect(seen[:stats]).to eq({ heap_losses: 0 })
  end

  it "stays true under GC.stress, with threads that die, minor GCs and incremental ones" do
    seen = run(<<~RUBY)
      data = watched do
        GC.stress = true
        below { $kept = keep(50); waste(50) }
        GC.stress = false
        threads = Array.new(20) { |i| Thread.new { Thread.current[:kept] = keep(10); sleep if i.even? } }
        threads.each { |thread| thread.kill if threads.index(thread) % 4 == 0 }
        threads.select.with_index { |_, index| index.odd? }.each(&:join)
        10.times { GC.start(full_mark: false, immediate_sweep: false); "x" * 100 }
        GC.start(full_mark: true, immediate_mark: false)
        100_000.times { Object.new }
        $threads = threads.reject.with_index { |_, index| index % 4 == 0 }
        threads = nil
        2.times { collect }
      end
      print JSON.generate(kept: alive(data, "Kept"), objects: ObjectSpace.each_object(Kept).count, gone: alive(data, "Gone"))
    RUBY
    expect(seen[:kept]).to be_between(seen[:objects] - a_few, seen[:objects] + a_few)
    expect(seen[:kept]).to be >= 50
    expect(seen[:gone]).to be <= a_few
  end

  it "begins anew in forked children, which live as long as they want" do
    seen = run(<<~RUBY)
      watched(inherit: true)
      below { $kept = keep(400) }
      collect
      reader, writer = IO.pipe
      pid = fork do
        3.times { collect }
        GC.compact if GC.respond_to?(:compact)
        below { $own = keep(300) }
        collect
        writer.print JSON.generate(alive: alive(RperfPush.stop || { aggregated_samples: [], label_sets: [{}] }, "Kept"))
        writer.close
      end
      Process.wait(pid)
      writer.close
      print JSON.generate(child: JSON.parse(reader.read)["alive"], status: $?.success?, all: alive(RperfPush.stop, "Kept"))
    RUBY
    expect(seen).to include(status: true, child: 300, all: 700) # of several processes, levels add up
  end

  it "gives up when there are other Ractors, and never errors an address" do
    seen = run(<<~RUBY)
      watched
      below { $kept = keep(400); waste(2_000) }
      collect
      ractors = Array.new(2) { Ractor.new { 200_000.times { Object.new }; GC.start; :done } }
      ractors.each { |one| one.respond_to?(:value) ? one.value : one.take }
      GC.compact if GC.respond_to?(:compact)
      3.times { collect }
      sleep 0.1
      below { waste(10_000) }
      data = RperfPush.snapshot
      kept, gone = alive(data, "Kept"), alive(data, "Gone")
      RperfPush.stop
      print JSON.generate(kept:, gone:, ignored: RperfPush.stats[:ractor_threads_ignored])
    RUBY
    expect(seen[:ignored]).to be > 0
    expect([0, 400]).to include(seen[:kept])
    expect(seen[:gone]).to be <= a_few
  end

  it "can be stopped and started at any time, and leaves nothing" do
    seen = run(<<~RUBY)
      sizes = Array.new(4) do
        50.times do
          RperfPush.start(mode: %i[cpu alloc heap])
          below { waste(200) }
          GC.start
          RperfPush.stop
        end
        File.read("/proc/self/statm").split[1].to_i
      end
      print JSON.generate(sizes:, watched: RperfPush.stats[:objects_watched])
    RUBY
    expect(seen[:watched]).to eq(0)
    expect(seen[:sizes].last - seen[:sizes][1]).to be < 4_000 # pages of 4 KiB
  end

  it "ends well however the program ends" do
    endings = ["exit!", "raise 'the end'", "Process.kill(:TERM, $$); sleep", "exit", "at_exit { GC.start; GC.compact }"]
    statuses = endings.map do |ending|
      run_ruby(<<~RUBY, env: { "RUBY_FREE_AT_EXIT" => "1" }).last
        RperfPush.start(mode: :heap, alloc_interval: 1)
        $kept = Array.new(1_000) { Object.new }
        GC.start
        #{ending}
      RUBY
    end
    expect(statuses.map { |status| status.termsig }).to eq([nil, nil, 15, nil, nil])
  end

  it "is not disturbed by exceptions that other threads raise, nor swallows them" do
    seen = run(<<~RUBY)
      data, caught = nil, 0
      watched
      $kept = []
      victims = Array.new(4) do
        Thread.new do
          loop { $kept << Kept.new; waste(50) if $kept.size % 10 == 0 }
        rescue RuntimeError
          caught += 1
        end
      end
      sleep 0.02 until $kept.size > 2_000
      victims.each { |thread| thread.raise("now") }
      victims.each(&:join)
      $kept = Array.new(1_000) { |index| $kept[index] }
      2.times { collect }
      data = RperfPush.stop
      print JSON.generate(caught:, kept: alive(data, "Kept"))
    RUBY
    expect(seen[:caught]).to eq(4)
    expect(seen[:kept]).to be_between(1_000, 1_000 + (4 * a_few))
  end

  it "names the line of a leak among a hundred times as much garbage, from samples", :measures do
    seen = run(<<~RUBY)
      RperfPush.start(mode: %i[cpu heap], lines: true, frequency: 250)
      leak = []
      finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 4
      until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > finish
        waste(100)
        leak << Kept.new; line = __LINE__
      end
      2.times { collect }
      data = RperfPush.stop
      objects = data[:values][:inuse_objects]
      sums = Hash.new(0)
      data[:aggregated_samples].each_with_index { |(frames, _), at| sums[frames.first(3).reject { |path,| path == "<C method>" }.first(2)] += objects[at] }
      top = sums.max_by { _2 }
      print JSON.generate(top: top[0], objects: top[1], leaked: leak.size, line:)
    RUBY
    expect(seen[:top].map { |_, label, line| [label, line] }).to match([["Kept", 0], ["<main>", seen[:line]]])
    expect(seen[:objects]).to be_within(seen[:leaked]).of(seen[:leaked])
  end

  context "on the testing build" do
    include StressProgram

    # There, each window and each GC checks that a watched object is still the one that was born.
    program = <<~RUBY
      class Kept; end
      def below(depth = 60, &block) = depth.zero? ? block.call && nil : below(depth - 1, &block)
      RperfPush.start(mode: :heap, alloc_interval: 1)
      $kept = []
      20.times do |round|
        below { 200.times { $kept << Kept.new; "x" * 100; [1, { a: 1 }] } }
        below { $kept.select!.with_index { |_, index| index % 3 > 0 } }
        round.even? ? GC.compact : GC.start(full_mark: round % 3 == 0)
        RperfPush.snapshot if round % 5 == 0
      end
      below { GC.start }
      data = RperfPush.stop
      alive = data[:aggregated_samples].sum { |frames, objects,| frames[0][1] == "Kept" ? objects : 0 }
      puts JSON.generate(alive:, kept: $kept.size, losses: RperfPush.stats[:heap_losses])
    RUBY

    it "never errors one object for another" do
      seen = on_testing_build(program)
      expect(seen[:losses]).to eq(0)
      expect(seen[:alive]).to be_between(seen[:kept], seen[:kept] + (2 * a_few))
    end

    it "discards all when the end of a GC was not heard of" do
      seen = on_testing_build(program, env: { "RPERF_PUSH_TESTING_BREAK" => "marks" })
      expect(seen[:losses]).to be > 0
      expect(seen[:alive]).to be <= seen[:kept]
    end
  end

  it "refuses to be the mode of what it is not" do
    expect { RperfPush.start(mode: :heaps) }.to raise_error(ArgumentError, /:heap/)
  end
end
