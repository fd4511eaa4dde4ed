# frozen_string_literal: true

require "rperf_push"
require "json"

# RperfPush.sample: what a program counts itself. Each call counts, so every number here is exact.
RSpec.describe "Samples of the program's own", :interpreted do
  def result_of(code)
    stdout, stderr, status = run_ruby("require 'json'\nputs JSON.generate(begin\n#{code}\nend)")
    expect(status).to be_success, stderr
    JSON.parse(stdout, symbolize_names: true)
  end

  # The method that called it; Rubies from 3.5 on write Integer#times in Ruby.
  def caller_in(frames) = frames.map(&:last).find { |label| label.start_with?("Object#") }

  # value => its sum, of a data Hash
  def sums(data)
    columns = data[:values] || {}
    { data[:mode].to_sym => data[:aggregated_samples].sum { |sample| sample[1] }, **columns.transform_values(&:sum) }
  end

  it "count the stack that they are called from, by name and labels" do
    data = result_of(<<~RUBY)
      def miss(times) = times.times { RperfPush.sample(name: :misses) }
      def send_bytes(size, to) = RperfPush.sample(size, name: :bytes_sent, endpoint: to)
      RperfPush.start(mode: :custom) do
        RperfPush.label(tenant: "acme") { miss(3) }
        3.times { |i| send_bytes(500 + i, "GET /") }
        send_bytes(7, "POST /")
        RperfPush.sample(0)
      end
    RUBY
    expect(data).to include(mode: "misses", units: { misses: "count", bytes_sent: "count" })
    rows = data[:aggregated_samples].each_with_index.map do |(frames, misses, _, set), at|
      [caller_in(frames), misses, data[:values][:bytes_sent][at], data[:label_sets][set]]
    end
    expect(rows).to contain_exactly(["Object#miss", 3, 0, { tenant: "acme" }], ["Object#send_bytes", 0, 1503, { endpoint: "GET /" }],
                                    ["Object#send_bytes", 0, 7, { endpoint: "POST /" }])
  end

  it "stand beside the time that the same session measures, whatever its mode" do
    data = result_of("RperfPush.start(mode: %i[cpu wall]) { 5.times { RperfPush.sample }; sleep 0.02 }")
    expect(data[:mode]).to eq(%w[cpu wall])
    expect(data[:values].keys).to eq(%i[wall samples weight_squares wall_squares])
    expect(data[:values][:samples].sum).to eq(5)
    expect(data[:units]).to eq({ samples: "count" })
    expect(result_of("RperfPush.start(mode: :cpu) { 1 }")).not_to include(:units)
  end

  # A half of the buffer has room for some 300 stacks as deep as these.
  it "lose nothing when they come faster than they can be taken away" do
    data = result_of(<<~RUBY)
      def deep(depth, &block) = depth.zero? ? block.call : deep(depth - 1, &block)
      RperfPush.start(mode: :custom) do
        others = Array.new(3) { |i| Thread.new { deep(300) { 10_000.times { RperfPush.sample(i + 1, name: :b) } } } }
        deep(400) { 10_000.times { RperfPush.sample } }
        others.each(&:join)
      end.then { |data| data.merge(full: RperfPush.stats[:samples_deferred_full]) }
    RUBY
    expect(sums(data)).to eq({ samples: 10_000, b: 60_000 })
  end

  it "come from any thread and fiber, with their labels, and from no other Ractor" do
    data = result_of(<<~RUBY)
      $VERBOSE = nil
      RperfPush.start(mode: :custom) do
        RperfPush.label(in: "fiber") do
          Fiber.new { 2.times { RperfPush.sample } }.resume
          Thread.new { RperfPush.sample(10, in: "thread") }.join
        end
        Ractor.new { RperfPush.sample(1000); true }.then { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
      end
    RUBY
    by_label = data[:aggregated_samples].to_h { |_, weight, _, set| [data[:label_sets][set][:in], weight] }
    expect(by_label).to eq({ "fiber" => 2, "thread" => 10 })
  end

  it "do nothing while nothing runs, and outside of what a deferred session profiles" do
    data = result_of(<<~RUBY)
      RperfPush.sample(1, name: :never)
      RperfPush.start(mode: :custom, defer: true)
      RperfPush.sample(100)
      RperfPush.profile { RperfPush.sample }
      RperfPush.sample(100)
      RperfPush.stop
    RUBY
    expect(sums(data)).to eq({ samples: 1 })
  end

  # What they allocate that is not theirs: the names of methods that are new.
  it "allocate nothing but the Hash of their keywords" do
    counts = result_of(<<~RUBY)
      def allocated
        GC.disable
        before = GC.stat(:total_allocated_objects)
        yield
        GC.stat(:total_allocated_objects) - before
      end
      def calls = [allocated { 1000.times { RperfPush.sample } }, allocated { 1000.times { RperfPush.sample(3, name: :a) } }]
      off = calls
      on = nil
      RperfPush.start(mode: :custom) do
        2.times do
          on = calls
          sleep 0.001 until RperfPush.stats[:frames_unresolved].zero?
        end
      end
      [off, on]
    RUBY
    expect(counts.map(&:first)).to all(be < 50)
    expect(counts.map(&:last)).to all(be_between(1000, 1050))
  end

  it "raise nothing for what cannot be counted, which is counted itself" do
    stdout, stderr, status = run_ruby(<<~RUBY)
      data = RperfPush.start(mode: :custom) do
        [-1, 1.5, nil, "1", 2**70, (2**48) + 1].each { |weight| RperfPush.sample(weight) }
        [:"a-b", :cpu, nil, 3, "with blank", :custom, "\\xff", "ab".encode("UTF-16LE")].each { |name| RperfPush.sample(name:) }
        18.times { |i| RperfPush.sample(name: "v\#{i}") }
      end
      puts data[:values].size, RperfPush.stats[:samples_refused]
    RUBY
    expect(status).to be_success, stderr
    expect(stdout.split).to eq(%w[15 16])
    expect(stderr.lines.grep(/RperfPush.sample is not counted/).size).to eq(1)
  end

  it "have the unit that was declared, in every format" do
    result = result_of(<<~RUBY)
      RperfPush.declare(:bytes_sent, unit: "bytes")
      RperfPush.declare(:bytes_sent, unit: :bytes)
      refused = [[:bytes_sent, "count"], ["a b", "count"], [:cpu, "count"], [:c, "k/s"]].map { |name, unit| RperfPush.declare(name, unit:) rescue $!.class }
      data = RperfPush.start(mode: :wall) { 4.times { RperfPush.sample(1000, name: :bytes_sent) }; sleep 0.02 }
      read = %w[a.json.gz b.pb.gz].map { |name| RperfPush.save(File.join(#{tmpdir.inspect}, name), data); RperfPush.load(File.join(#{tmpdir.inspect}, name)) }
      { refused:, units: [data, *read].map { |one| one[:units][:bytes_sent] }, sums: read.map { |one| one[:values][:bytes_sent].sum } }
    RUBY
    expect(result).to eq({ refused: ["ArgumentError"] * 4, units: ["bytes"] * 3, sums: [4000, 4000] })
  end

  it "go on in a forked child, each process with its own" do
    folder = tmpdir
    _, stderr, status = run_ruby(<<~RUBY)
      RperfPush.configure! { |c| c.backend = :directory; c.directory = #{folder.inspect}; c.application_name = "counting" }
      100.times { RperfPush.sample }
      2.times { |i| fork { 10.times { RperfPush.sample(i + 1) } } }
      Process.waitall
    RUBY
    expect(status).to be_success, stderr
    files = Dir[File.join(folder, "*.pb.gz")].map { |file| RperfPush.load(file) }
    expect(files.map { |data| sums(data)[:samples] }.compact.sort).to eq([10, 20, 100])
  end

  # Its leaf is its own method, ours is the caller.
  it "are what stackprof's mode :custom counts" do
    require "stackprof"
    code = <<~RUBY
      class Shop
        def miss = count
        def hit(times) = times.times { count }
        def run = 10.times { |i| i.odd? ? miss : hit(i) }
      end
    RUBY
    ours = result_of("#{code}class Shop; def count = RperfPush.sample; end\nRperfPush::Report.new(RperfPush.start(mode: :custom) { Shop.new.run }).data")
    theirs, stderr, status = run_ruby("#{code}require 'stackprof'\nclass Shop; def count = StackProf.sample; end\n" \
                                      "puts JSON.generate(StackProf.run(mode: :custom) { Shop.new.run })", gems: true, arguments: %w[-rjson])
    expect(status).to be_success, stderr
    by_name = [ours, JSON.parse(theirs, symbolize_names: true)].map do |data|
      data[:frames].values.group_by { |frame| frame[:name].delete_prefix("block in ") }
                   .transform_values { |frames| frames.map { |frame| frame[:total_samples] }.max }
    end
    methods = %w[Shop#count Shop#hit Shop#miss Shop#run]
    expect(by_name.map { |totals| totals.slice(*methods) }).to all(eq(methods.zip([25, 20, 5, 25]).to_h))
  end
end
