# frozen_string_literal: true

require "rperf_push"
require_relative "support/pyroscope_client"
require_relative "support/fake_pyroscope"

# Counters decide totals, samples decide the distribution: the sum of a profile is what the VM has counted, to the object.
RSpec.describe "Allocations" do
  # @return [Hash] what the program prints as JSON
  def run(code, env: {}, arguments: [])
    out, log, status = run_ruby(<<~RUBY, env:, arguments: ["-W0", "-rjson", *arguments])
      class Book; end
      class Page; end
      def counted = GC.stat(:total_allocated_objects)
      def books(count) = count.times { Book.new }
      def pages(count)
        count.times do
          Page.new
          [Page.new]
        end
      end
      # frames leaf first, with lines; objects; labels
      def rows(data) = data[:aggregated_samples].map { |frames, weight, _, set| [frames, weight, data[:label_sets][set]] }
      def of_class(data, name) = rows(data).select { |frames,| frames[0][0, 2] == ["<class>", name] }
      #{code}
    RUBY
    raise "#{log}#{status}" unless status.success?

    JSON.parse(out, symbolize_names: true)
  end

  it "captures each one with an interval of 1: by class, line, method and labels" do
    seen = run(<<~RUBY)
      inner = nil
      before = counted
      data = RperfPush.start(mode: :object, alloc_interval: 1, lines: true) do
        from = counted
        books(100)
        RperfPush.label(shelf: "a") { pages(30) }
        inner = counted - from
      end
      outer = counted - before
      print JSON.generate(inner:, outer:, mode: data[:mode], sum: rows(data).sum { _2 }, space: data[:values][:alloc_space].sum,
                          books: of_class(data, "Book"), pages: of_class(data, "Page"), arrays: of_class(data, "Array"))
    RUBY
    expect(seen[:sum]).to be_between(seen[:inner], seen[:outer])
    expect(seen[:space]).to be >= seen[:sum] * 40
    expect(seen[:mode]).to eq("alloc")
    expect(seen[:books].sum { |_, objects,| objects }).to eq(100)
    expect(seen[:books].flat_map { |frames,| frames.map { |_, label| label } }).to include("Object#books", *("Class#new" if RUBY_VERSION < "4")) # which has an instruction for it
    expect(seen[:pages].map(&:last).uniq).to eq([{ shelf: "a" }])
    by_line = seen[:pages].to_h { |frames, objects| [frames.find { |_, label| label == "Object#pages" }[2], objects] }
    # The leaf's line is unknown in code of YJIT, and since Ruby 4.0 the leaf is the method that says new.
    unknown = by_line.delete(0) || 0
    expect(by_line.keys.max - by_line.keys.min).to eq(1)
    expect(by_line.values.sum + unknown).to eq(60)
    expect(by_line.values).to eq([30, 30]) if unknown.zero?
    expect(unknown).to eq(0).or(satisfy { RUBY_VERSION >= "4" && RubyVM::YJIT.enabled? })
    expect(seen[:arrays].select { |_, _, labels| labels == { shelf: "a" } }.sum { |_, objects,| objects }).to eq(30)
  end

  it "captures each n-th with that interval, and counts all" do
    seen = run(<<~RUBY)
      inner = nil
      before = counted
      data = RperfPush.start(mode: [:cpu, :alloc], alloc_interval: 7) do
        from = counted
        books(7_000)
        inner = counted - from
      end
      print JSON.generate(inner:, outer: counted - before, values: data[:values].keys, sum: data[:values][:alloc_objects].sum,
                          captured: RperfPush.stats[:allocations_captured])
    RUBY
    expect(seen[:values]).to start_with("alloc_objects", "alloc_space")
    expect(seen[:sum]).to be_between(seen[:inner], seen[:outer])
    expect(seen[:captured]).to be_between(1_000, seen[:outer] / 7)
  end

  # Each n-th stands for those before it. The ones of a window that has ended are not the next one's, nor those before a session.
  it "counts none twice where windows and sessions begin between two n-ths" do
    seen = run(<<~RUBY)
      sums = ->(data) { data[:aggregated_samples].sum { _2 } }
      before = counted
      inner = nil
      data = RperfPush.start(mode: :alloc, alloc_interval: 1_000) do
        from = counted
        40.times { books(300) && RperfPush.snapshot }
        inner = counted - from
      end
      outer = counted - before
      RperfPush.configure! { |config| config.mode = :alloc; config.directory = "#{tmpdir}" }
      other = RperfPush.start(mode: :alloc, alloc_interval: 1_000) { books(20) }
      print JSON.generate(inner:, outer:, sum: sums.(data), other: sums.(other))
    RUBY
    expect(seen[:sum]).to be_between(seen[:inner], seen[:outer])
    expect(seen[:other]).to be < 1_000
  end

  it "samples some at random, shares what was counted out over them, and leaves nothing switched on" do
    seen = run(<<~RUBY)
      inner = nil
      before = counted
      samples = -> { RperfPush.stats[:allocations_captured] }
      data = RperfPush.start(mode: :alloc) do
        from = counted
        until samples.() >= 600
          2_000.times do
            books(6)
            pages(2)
          end
        end
        inner = counted - from
      end
      outer = counted - before
      from = RperfPush.stats[:allocation_bursts]
      books(300_000)
      share = ->(name) { of_class(data, name).sum { _2 }.fdiv(rows(data).sum { _2 }) }
      print JSON.generate(inner:, outer:, sum: rows(data).sum { _2 }, books: share.("Book"), pages: share.("Page"), arrays: share.("Array"),
                          samples: samples.(), later: RperfPush.stats[:allocation_bursts] - from)
    RUBY
    expect(seen[:sum]).to be_between(seen[:inner], seen[:outer])
    expect(seen[:later]).to eq(0)
    error = ->(share) { 5 * Math.sqrt(share * (1 - share) / seen[:samples]) }
    { books: 0.5, pages: 4 / 12r, arrays: 2 / 12r }.each { |name, share| expect(seen[name]).to be_within(error.(share)).of(share) }
  end

  it "does no harm to tracers, finalizers, forked children and other Ractors, nor they to it" do
    seen = run(<<~RUBY)
      require "objspace"
      traced = called = child = nil
      data = RperfPush.start(mode: :alloc, alloc_interval: 1) do
        ObjectSpace.trace_object_allocations { traced = ObjectSpace.allocation_sourceline(Book.new) }
        calls = 0
        TracePoint.new(:c_call) { |call| calls += 1 if call.method_id == :upcase }.enable { books(20) && 20.times { "x".upcase } }
        called = calls
        10.times { ObjectSpace.define_finalizer(Page.new, proc { Book.allocate }) }
        GC.start
        child = IO.popen("-") do |pipe|
          next pipe.read if pipe
          books(50)
          print RperfPush.stop[:aggregated_samples].sum { |frames, objects| frames[0][1] == "Book" ? objects : 0 }
          exit!(0)
        end
      end
      sampled = RperfPush.start(mode: :alloc) do
        reached = Ractor.new { 50_000.times { Object.new } }
        reached.respond_to?(:value) ? reached.value : reached.take
        books(200_000)
      end
      print JSON.generate(traced:, called:, child:, books: of_class(data, "Book").sum { _2 }, sampled: rows(sampled).sum { _2 })
    RUBY
    expect(seen).to include(traced: be_positive, called: 20, child: "50")
    expect(seen[:books]).to be >= 21
    expect(seen[:sampled]).to be >= 250_000
  end

  it "samples while ObjectSpace traces allocations, as memory_profiler does; neither ends the other" do
    seen = run(<<~RUBY)
      require "objspace"
      line = ->(object) { ObjectSpace.allocation_sourceline(object) }
      traced = nil
      data = RperfPush.start(mode: :alloc) do
        ObjectSpace.trace_object_allocations do
          kept = Array.new(200_000) { Book.new }
          traced = kept.count { |book| line.call(book) == __LINE__ - 1 }
        end
        books(10_000) until RperfPush.stats[:allocations_captured] >= 200
      end
      later = inner = nil
      ObjectSpace.trace_object_allocations do
        inner = RperfPush.start(mode: :alloc, alloc_interval: 1) { books(10) }
        later = line.call(Book.new) == __LINE__
      end
      print JSON.generate(traced:, later:, sum: rows(data).sum { _2 }, books: of_class(data, "Book").sum { _2 }, inner: of_class(inner, "Book").sum { _2 })
    RUBY
    expect(seen).to include(traced: 200_000, later: true, inner: 10)
    expect(seen[:sum]).to be >= 200_000
    expect(seen[:books]).to be > 0.8 * seen[:sum]
  end

  it "has classes as labels, where that is asked for" do
    seen = run(<<~RUBY)
      inner = nil
      before = counted
      data = RperfPush.start(mode: [:wall, :alloc], alloc_interval: 1, class_labels: true, lines: true) do
        from = counted
        books(100)
        RperfPush.label(shelf: "a") { pages(30) }
        sleep 0.02
        inner = counted - from
      end
      outer = counted - before
      sets, objects = data[:label_sets], data[:values][:alloc_objects]
      by_class = Hash.new(0)
      data[:aggregated_samples].each_with_index { |(_, _, _, set), at| by_class[sets[set].values_at(:class, :shelf)] += objects[at] if objects[at] > 0 }
      leaves = data[:aggregated_samples].each_with_index.filter_map { |(frames), at| frames[0][1] if objects[at] > 0 && sets[data[:aggregated_samples][at][3]][:class] == "Book" }
      print JSON.generate(inner:, outer:, sum: objects.sum, books: by_class[["Book", nil]], pages: by_class[["Page", "a"]], leaves: leaves.uniq,
                          frames: data[:aggregated_samples].flat_map(&:first).count { |path,| path == "<class>" }, none: by_class[[nil, nil]],
                          sleeps: data[:aggregated_samples].filter_map { |frames, _, _, set| sets[set] if frames[0][1] == "Kernel#sleep" })
    RUBY
    expect(seen[:sum]).to be_between(seen[:inner], seen[:outer])
    leaf = RUBY_VERSION < "4" ? "Class#new" : "Object#books" # which has an instruction for it
    expect(seen).to include(books: 100, pages: 60, leaves: [leaf], frames: 0)
    expect(seen[:sleeps]).to include({ "%GVL": "blocked" })
  end

  it "refuses an interval that is none" do
    [0, -1, "1", 1.5].each do |wrong|
      expect { RperfPush.start(mode: :alloc, alloc_interval: wrong) }
        .to raise_error(ArgumentError, /\Aalloc_interval must be nil or an Integer from 1 to 1000000, got/)
    end
  end

  it "reaches Pyroscope under the ids that its pages know" do
    fake_server = FakePyroscope.new
    env = { "RPERF_PUSH_SERVER_ADDRESS" => fake_server.url, "RPERF_PUSH_APPLICATION_NAME" => "shop", "RPERF_PUSH_MODE" => "cpu,alloc",
            "RPERF_PUSH_CLASS_LABELS" => "true",
            "RPERF_PUSH_UPLOAD_INTERVAL" => "1800" }
    stats = run(<<~RUBY, env:)
      RperfPush.configure!
      finish = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.3
      books(1_000) until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > finish
      RperfPush.flush(timeout: 20)
      RperfPush.shutdown
      print JSON.generate(RperfPush.stats)
    RUBY
    client = PyroscopeClient.new(fake_server.url)
    objects, space = %w[memory:alloc_objects:count:space:bytes memory:alloc_space:bytes:space:bytes]
    expect(client.profile_types).to contain_exactly(PyroscopeClient::CPU, objects, space)
    expect([objects, space].map { |type| client.total(type, '{service_name="shop"}') })
      .to eq(stats.values_at(:alloc_objects_encoded, :alloc_space_encoded))
    expect(client.label_values("class")).to include("Book")
    expect(client.total(objects, '{class="Book"}')).to be > client.total(objects, '{service_name="shop"}') / 2
    expect(stats).to include(payloads_dropped_rejected: 0, encode_failures: 0)
    expect(fake_server.violations).to eq([])
  ensure
    fake_server&.stop
  end
end
