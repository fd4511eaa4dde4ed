# frozen_string_literal: true

require "rperf_push"
require "rperf_push/cli"

# The commands that read, over profiles by hand.
RSpec.describe "reading profiles", :once, :waiting do
  include CommandLine

  a = ["a.rb", "A#pow", 12]
  b = ["b.rb", "B#new", 8]
  b_other = ["b.rb", "B#new", 9]
  main = ["main.rb", "<main>", 1]

  define_method(:data) do |scale = 1, **more|
    { mode: :cpu, frequency: 1000, duration_ns: 10_000_000, sampling_count: 10, gc_stats: { allocated_objects: 5 * scale },
      aggregated_samples: [[[a, b, main], 6_000_000 * scale, 1, 0], [[b_other, main], 3_000_000, 1, 1], [[main], 1_000_000, 2, 2]],
      label_sets: [{}, { "%GVL": "blocked", endpoint: "x" }, { endpoint: "y" }], **more }
  end

  def file(name, data) = "#{tmpdir}/#{name}".tap { |path| RperfPush.save(path, data) }

  let(:path) { file("p.json.gz", data) }

  describe RperfPush::Report do
    it "gives stackprof's Hash of frames" do
      report = described_class.new(data).data
      frames = report[:frames].values.to_h { |frame| [frame[:name], frame] }
      ids = report[:frames].to_h { |id, frame| [frame[:name], id] }
      expect(report).to include(mode: :cpu, interval: 1000, samples: 10_000_000, gc_samples: 0)
      expect(frames["A#pow"]).to eq(name: "A#pow", file: "a.rb", line: 12, total_samples: 6_000_000, samples: 6_000_000,
                                    lines: { 12 => [6_000_000, 6_000_000] })
      expect(frames["B#new"]).to include(total_samples: 9_000_000, samples: 3_000_000, edges: { ids["A#pow"] => 6_000_000 },
                                         lines: { 8 => [6_000_000, 0], 9 => [3_000_000, 3_000_000] })
      expect(frames["<main>"][:edges]).to eq(ids["B#new"] => 9_000_000)
    end

    it "describes a method: callers, callees, and lines with their source" do
      File.write(source = "#{tmpdir}/b.rb", (1..12).map { |line| "line #{line}\n" }.join)
      there = data
      there[:aggregated_samples].each { |frames,| frames.map! { |frame| frame[0] == "b.rb" ? [source, *frame.drop(1)] : frame } }
      text = described_class.new(there).method("B#new")
      expect(text).to start_with("B#new (#{source}:8)\n  samples: 3.0 ms (30.0%) self / 9.0 ms (90.0%) total\n")
      expect(text).to match(/callers:\n +9\.0 ms \(100\.0%\)  <main>\n  callees:\n +6\.0 ms \( 66\.7%\)  A#pow\n  code:\n/)
      expect(text).to match(/^ +6\.0 ms \( 60\.0%\) \/ +0\.0 ms \(  0\.0%\) \|     8 \| line 8$/)
      expect(text.scan(/\| line (\d+)$/).flatten).to eq(%w[6 7 8 9 10 11])
      expect(described_class.new(data).method("nope")).to be_nil
    end

    it "shows a method from its definition to its end, and a block likewise" do
      File.write(source = "#{tmpdir}/shop.rb", <<~RUBY)
        class Shop
          def other = 1

          def total(items)
            sum = 0
            items.each do |item|
              sum += item.price
              sum -= item.rebate
            end
            sum
          end

          def self.total = 2
        end
      RUBY
      rows = [[[[source, "block in Shop#total", 7], [source, "Shop#total", 6], [source, "<main>", 13]], 5_000_000, 1, 0]]
      report = described_class.new(data(aggregated_samples: rows))
      shown = ->(name) { report.method(name).scan(/^ .*\| +(\d+) \|/).flatten.map(&:to_i) }
      expect(report.method("Shop#total")).to start_with("Shop#total (#{source}:4)\n").and match(/5\.0 ms .*\|     6 \|     items.each do/)
      expect(shown.("Shop#total")).to eq([*4..11])
      expect(shown.("block in Shop#total")).to eq([*6..9])
      expect(shown.("<main>")).to eq([*11..14]) # some lines around
      File.write(source, "def broken(\n" * 20)
      expect(described_class.new(data(aggregated_samples: rows)).method("Shop#total").scan(/\|$|def broken/).size).to eq(5)
    end

    it "describes what has nothing of the weight by another value that it has something of, if none was asked for" do
      both = data(aggregated_samples: [[[a, main], 5_000_000, 1, 0], [[["<class>", "String", 0], a, main], 0, 1, 0]],
                  values: { alloc_objects: [0, 3], alloc_space: [0, 120] }, units: { alloc_objects: "count", alloc_space: "bytes" })
      expect(described_class.new(both).method("String")).to eq(<<~TEXT)
        String (<class>)
          alloc_objects: 3 count (100.0%) self / 3 count (100.0%) total
          callers:
                 3 count (100.0%)  A#pow
      TEXT
      expect(described_class.new(both).method("A#pow")).to match(/\A.*\n  samples: 5\.0 ms \(100\.0%\) self.*\n  callers:\n.*main>\n  code:/)
      expect(described_class.new(both, value: :cpu).method("String")).to eq("String (<class>)\n  samples: 0.0 ms (0.0%) self / 0.0 ms (0.0%) total\n")
    end

    it "draws a graph that Graphviz takes, whatever the names" do
      odd = data(aggregated_samples: [[[["x", "quote\" \\ back", 1], main], 1, 1, 0]])
      expect(described_class.new(odd).dot).to include('label="quote\\" \\\\ back\\n').and match(/\d -> \d/)
    end
  end

  it "prints the tables, each as long as asked" do
    ended = rperf_push("report", path)
    expect([ended.err, ended.status]).to eq(["", 0])
    expect(ended.out).to eq(<<~TEXT)
      Total: 10.0ms (cpu)
      Samples: 10, Frequency: 1000Hz

       Flat:
                  6.0 ms  60.0%  A#pow (a.rb)
                  3.0 ms  30.0%  B#new (b.rb)
                  1.0 ms  10.0%  <main> (main.rb)

       Cumulative:
                 10.0 ms 100.0%  <main> (main.rb)
                  9.0 ms  90.0%  B#new (b.rb)
                  6.0 ms  60.0%  A#pow (a.rb)
    TEXT
    expect(rperf_push("report", "--top", "--limit", "1", path).out.scan(/ms +[\d.]+%/).size).to eq(2)
    expect(rperf_push("report", "--text", path).out).to eq(ended.out)
  end

  it "prints stacks, labels, a method, a graph" do
    expect(rperf_push("report", "--collapsed", path).out.lines.first).to eq("<main>;B#new;A#pow 6000000\n")
    expect(rperf_push("report", "--collapsed", "--synthetic-frames", path).out.lines[1]).to eq("<main>;B#new;[GVL blocked] 3000000\n")
    expect(rperf_push("report", "--by-label", "endpoint", path).out)
      .to eq(" endpoint:\n#{[["6.0", "60.0", "(none)"], ["3.0", "30.0", "x"], ["1.0", "10.0", "y"]].map { |ms, share, name| format("%15s ms %5s%%  %s\n", ms, share, name) }.join}")
    expect(rperf_push("report", "--method", "A#pow", path).out).to start_with("A#pow (a.rb:12)\n")
    numbered = file("numbered.json", data.merge(label_sets: [{ bytes: [512, "kilobytes"] }, { bytes: 7 }, {}]))
    expect(rperf_push("report", "--by-label", "bytes", numbered).out.scan(/%  (.*)$/).flatten).to eq(["512 kilobytes", "7", "(none)"])
    expect(rperf_push("report", "--dot", path).out).to start_with("digraph profile {\n")
  end

  # Three methods call one that calls three.
  it "prints no table that is longer than asked" do
    many = (1..3).flat_map { |i| (1..3).map { |j| [[["c.rb", "C#callee#{i}", i], ["m.rb", "M#middle", 1], ["r.rb", "R#caller#{j}", j]], i * j, 1, i] } }
    path = file("many.json", data.merge(aggregated_samples: many, label_sets: [{}, { n: "1" }, { n: "2" }, { n: "3" }]))
    rows = lambda do |*arguments|
      rperf_push(*arguments, "--limit", "2", path).out.scan(/^ *(?:[\d.+-]+ ms|[CMR]#\w+\t|\d+ \[)|"method":/).size
    end
    { [] => 4, ["--text"] => 4, ["--top"] => 4, %w[--method M#middle] => 5, %w[--by-label n] => 2, ["--dot"] => 2,
      %w[--format table] => 2, %w[--format table-json] => 3 }.each { |options, count| expect([options, rows.call("report", *options)]).to eq([options, count]) }
    expect(rows.call("diff", "--method", "M#middle", path)).to eq(10)
    expect(rows.call("diff", file("few.json", data.merge(mode: :cpu, aggregated_samples: [many[0]])))).to eq(4)
  end

  it "prints the tables alone with --top, and a header with --text and by itself" do
    top, text, plain = [%w[--top], %w[--text], []].map { |options| rperf_push("report", *options, path).out }
    expect(top).to start_with("\n Flat:\n")
    expect([text, plain]).to all(eq("Total: 10.0ms (cpu)\nSamples: 10, Frequency: 1000Hz\n#{top}"))
  end

  it "prints the time of each thread" do
    expect(rperf_push("report", "--by-label", "thread_seq", path).out).to eq(" thread_seq:\n            9.0 ms  90.0%  1\n            1.0 ms  10.0%  2\n")
  end

  it "says which labels there are when it is asked for another one" do
    expect(rperf_push("report", "--by-label", "nope", path).to_a)
      .to eq(["", "rperf-push: report: no label nope; there are %GC, %GVL, %pid, endpoint, thread_seq\n", 1])
    expect(rperf_push("report", "--by-label", "%GC", path).out).to eq(" %GC:\n           10.0 ms 100.0%  (none)\n") # nothing was in the GC
  end

  # As a session with the backend :directory sends it, and not as save writes it.
  describe "of files that a session has sent" do
    before do
      stdout, stderr, status = run_ruby(<<~RUBY)
        RperfPush.configure! do |config|
          config.application_name = "shop"
          config.backend = :directory
          config.directory = "#{tmpdir}"
          config.mode = :wall
        end
        sleep 0.3
        GC.start
        RperfPush.shutdown
      RUBY
      expect(status).to be_success, stdout + stderr
    end

    it "speaks of labels, states and C functions as of others" do
      by_either = %w[%GVL gvl_state].map { |name| rperf_push("report", "--by-label", name, tmpdir).out }
      expect(by_either.uniq).to match([/\A %GVL:\n +3\d\d\.\d ms .* blocked\n/])
      report = rperf_push("report", tmpdir).out
      expect(report).to match(/^GC: /).and include("Kernel#sleep (<C method>)")
      expect(rperf_push("report", "--collapsed", "--synthetic-frames", tmpdir).out).to match(/Kernel#sleep;\[GVL blocked\] \d+$/)
      expect(Dir.glob("#{tmpdir}/*.pb.gz").flat_map { |path| RperfPush.load(path)[:label_sets] }.flat_map(&:keys)).not_to include(:gvl_state, :gc_phase)
    end
  end

  it "prints tables for machines, with the rest in a row" do
    table = rperf_push("report", "--format", "table", "--limit", "1", path).out.lines(chomp: true)
    expect(table[0..2]).to eq(["method\tself_pct\ttotal_pct\tself_ms", "A#pow\t60.0\t60.0\t6.0", "(other)\t40.0\t\t4.0"])
    expect(table[3]).to start_with("# summary\ttotal_ms=10.0")
    rows = JSON.parse(rperf_push("report", "--format", "table-json", path).out)
    expect(rows.first).to eq("method" => "A#pow", "self_pct" => 60.0, "total_pct" => 60.0, "self_ms" => 6.0)
    expect(rows.last["summary"]).to include("total_ms" => 10.0, "allocated_objects" => 5)
  end

  it "shows what the program counted, in each form, and nothing of what counted none" do
    counted = ->(numbers) { data.merge(values: { sent: numbers, misses: [0, 1, 0] }, units: { sent: "bytes", misses: "count" }) }
    both = [file("a.pb.gz", counted.([2048, 0, 512])), file("b.json.gz", counted.([4096, 0, 512]))]
    shown = ->(*options) { rperf_push("report", "--value", *options, both.first).out }
    expect(shown.("sent")).to start_with("Total: 2.5KB (sent)\n").and include("            2.0 KB  80.0%  A#pow (a.rb)\n")
    expect(shown.("misses")).to start_with("Total: 1 count (misses)\n")
    expect(shown.("misses", "--collapsed")).to eq("# misses count\n<main>;B#new 1\n")
    expect(shown.("sent", "--by-label", "endpoint")).to match(/^ +0\.5 KB .* y$/)
    expect(rperf_push("diff", "--value", "sent", "--collapsed", *both).out).to eq("<main>;B#new;A#pow 2048 4096\n<main> 512 512\n")
    expect(rperf_push("diff", "--value", "sent", *both).out)
      .to start_with("Total: 2.5 → 4.5 KB, +80.0 % (sent)\n").and include("           +2.0 KB  +44.4%  A#pow (a.rb)\n")
  end

  it "shows another value" do
    both = file("both.pb.gz", data.merge(mode: %i[cpu wall], values: { wall: [6, 3_000_000_000, 0] }))
    expect(rperf_push("report", "--value", "wall", both).out).to start_with("Total: 3000.0ms (wall)\n")
    expect(rperf_push("report", "--value", "heap", both).to_a)
      .to eq(["", "rperf-push: report: no value heap; there are cpu, wall\n", 1])
  end

  it "sums files, and folders of them; label sets that are equal are one" do
    Dir.mkdir("#{tmpdir}/d")
    file("d/1.pb.gz", data)
    file("d/2.json", data(2))
    file("d/3.collapsed", data) && File.delete("#{tmpdir}/d/3.collapsed")
    expect(rperf_push("report", "#{tmpdir}/d").out).to start_with("Total: 26.0ms (cpu)\nSamples: 20")
    expect(rperf_push("report", path, path, path).out).to start_with("Total: 30.0ms (cpu)\nSamples: 30")
    sum = RperfPush::Merge.new.add(data).add(data(2)).data
    expect(sum[:label_sets]).to eq(data[:label_sets])
    expect(sum[:detected_thread_count]).to eq(4)
    expect(sum[:aggregated_samples].sum { |sample| sample[1] }).to eq(26_000_000)
  end

  # 543 → 126 ms looked like four milliseconds less, when shares were compared.
  it "takes a shorter run for a faster one, and one without anything for none" do
    slow, fast = { "slow.json" => 543, "fast.json" => 126 }.map do |name, ms|
      file(name, data.merge(aggregated_samples: [[[["fib.rb", "Object#fib", 1]], ms * 1_000_000, 1, 0]]))
    end
    expect(rperf_push("diff", slow, fast).out).to start_with("Total: 543.0 → 126.0 ms, -76.8 % (cpu)\n").and include("-417.0 ms -331.0%  Object#fib")
    nothing = file("nothing.json", data.merge(aggregated_samples: []))
    expect(rperf_push("diff", nothing, fast).out).to start_with("Total: 0.0 → 126.0 ms (cpu)\n")
  end

  # Samples of 4 ms: 25 of fib, and then 36; of get 25, and then 100. The wait was timed.
  describe "with the numbers of samples" do
    def sampled(name, counts, known: true)
      rows = counts.map { |label, count| [[["a.rb", label, 1], ["m.rb", "<main>", 1]], count * 4_000_000, 1, 0] } << [[["<C method>", "Kernel#sleep", 0]], 70_000_000, 1, 0]
      values = { samples: [*counts.values, 1], weight_squares: [*counts.values.map { |count| count * (4_000_000**2) }, 0] }
      file(name, data.merge(mode: :wall, aggregated_samples: rows, **(known ? { values: } : {})))
    end

    let(:before) { sampled("before.json", { "A#fib" => 25, "A#get" => 25 }) }
    let(:after) { sampled("after.json", { "A#fib" => 36, "A#get" => 100 }) }

    it "prints two standard errors, and none of what was timed or where a file does not say" do
      expect(rperf_push("report", before).out).to start_with("Total: 270.0ms (wall)\nSamples: 10, Frequency: 1000Hz\n±: two standard errors of sampling\n\n Flat:\n")
      rows = rperf_push("report", before).out.lines(chomp: true).grep(/%/)
      expect(rows.first(4)).to eq(["          100.0 ms  37.0%  A#fib (a.rb)               ± 40.0 ms",
                                   "          100.0 ms  37.0%  A#get (a.rb)               ± 40.0 ms",
                                   "           70.0 ms  25.9%  Kernel#sleep (<C method>)",
                                   "          200.0 ms  74.1%  <main> (m.rb)              ± 56.6 ms"])
      as_rperf_has_it = [rperf_push("report", "--top", before).out, RperfPush::Text.encode(RperfPush.load(before))]
      expect(as_rperf_has_it).to all(include("          100.0 ms  37.0%  A#fib (a.rb)\n"))
      expect(rperf_push("report", "--method", "<main>", before).out).to include("  samples: 0.0 ms (0.0%) self / 200.0 ms ± 56.6 ms (74.1%) total\n")
      expect(rperf_push("report", before, after).out).to include("          500.0 ms  56.6%  A#get (a.rb)               ± 89.4 ms\n")
      unknown = sampled("unknown.json", { "A#fib" => 25 }, known: false)
      expect([["report", unknown], ["report", before, unknown], ["diff", before, unknown]].map { |arguments| rperf_push(*arguments).out }.grep(/±|~/)).to eq([])
    end

    it "marks what two standard errors explain, which is no change" do
      expect(rperf_push("diff", before, after).out).to eq(<<~TEXT)
        Total: 270.0 → 614.0 ms, +127.4 % (wall)
        ±: two standard errors of sampling
        ~: within them, so no change that these samples can tell

         Flat:
                   +300.0 ms      ± 89.4 ms  +48.9%  A#get (a.rb)
        ~           +44.0 ms      ± 62.5 ms   +7.2%  A#fib (a.rb)

         Cumulative:
                   +344.0 ms     ± 109.1 ms  +56.0%  <main> (m.rb)
                   +300.0 ms      ± 89.4 ms  +48.9%  A#get (a.rb)
        ~           +44.0 ms      ± 62.5 ms   +7.2%  A#fib (a.rb)
      TEXT
      expect(rperf_push("diff", before, before).out).not_to match(/±|~/)
    end

    it "says the error of a value that is not the weight, if the file has it" do
      both = data.merge(mode: %i[cpu wall], values: { wall: [9_000_000, 0, 0], wall_squares: [4 * (10**12), 0, 0], weight_squares: [0, 0, 0] })
      expect(rperf_push("report", "--value", "wall", file("both.json", both)).out).to include("            9.0 ms 100.0%  A#pow (a.rb)      ± 4.0 ms\n")
    end

    it "adds up squares that are more than 64 bits have room for" do
      huge = data.merge(values: { samples: [9, 9, 9], weight_squares: [10**24, 10**24, 10**24] })
      expect(rperf_push("report", file("huge.json", huge)).out).to match(/10\.0 ms 100\.0%  <main> .* ± 3464101\.6 ms$/)
    end
  end

  it "refuses to sum what measures different things" do
    wall = file("wall.json", data.merge(mode: :wall))
    expect(rperf_push("report", path, wall).to_a).to eq(["", "rperf-push: report: they measure different things: cpu, wall\n", 1])
  end

  it "tells what differs, by time or by shares" do
    twice = file("twice.json", data(2))
    expect(rperf_push("diff", path, twice).out).to eq(<<~TEXT)
      Total: 10.0 → 16.0 ms, +60.0 % (cpu)

       Flat:
                 +6.0 ms  +37.5%  A#pow (a.rb)

       Cumulative:
                 +6.0 ms  +37.5%  <main> (main.rb)
                 +6.0 ms  +37.5%  A#pow (a.rb)
                 +6.0 ms  +37.5%  B#new (b.rb)
    TEXT
    shares = rperf_push("diff", "--relative", path, twice).out
    expect(shares).to start_with("Total: 10.0 → 16.0 ms, +60.0 % (cpu); shares: the base is scaled to the target\n")
    expect(shares).to include("+2.4 ms  +15.0%  A#pow", "-1.8 ms  -11.2%  B#new")
    expect(rperf_push("diff", path, path).out.scan("no difference").size).to eq(2)
    expect(rperf_push("diff", path, path, "--", twice, twice).out).to include("Total: 20.0 → 32.0 ms, +60.0 %")
    noisy = file("noisy.json", data.merge(aggregated_samples: [*data[:aggregated_samples], [[["n.rb", "Noise#n", 1]], 40, 1, 0]]))
    expect(rperf_push("diff", path, noisy).out.scan("no difference").size).to eq(2)
    table = rperf_push("diff", "--format", "table", path, twice).out.lines(chomp: true)
    expect(table[0..1]).to eq(["method\tself_pct_base\tself_pct_head\tdelta_pt", "A#pow\t60.0\t75.0\t15.0"])
    expect(table.last).to include("total_ms_delta=0.0", "allocated_objects_delta=5")
  end

  {
    ["report"] => "report: rperf-push.json.gz: No such file or directory",
    ["report", "/none"] => "report: /none: No such file or directory",
    ["report", "--limit", "0", "x"] => "report: limit must be from 1 to 1000000000, got 0",
    ["diff", "--limit", "-1", "x", "y"] => "diff: limit must be from 1 to 1000000000, got -1",
    ["report", "--top", "--limit", "9" * 20, :path] => "report: limit must be from 1 to 1000000000, got #{"9" * 20}",
    ["stacks", "--depth", "9" * 20, "1"] => "stacks: depth must be from 1 to 1000000000, got #{"9" * 20}",
    ["report", "--method", "nope", :path] => "report: no method nope in the profile",
    ["diff", "/none"] => "diff needs BASE TARGET, or BASE... -- TARGET...",
    ["diff", "a", "b", "c"] => "diff needs BASE TARGET, or BASE... -- TARGET...",
    ["diff", :path, "/none"] => "diff: /none: No such file or directory"
  }.each do |arguments, message|
    it "answers #{arguments.join(" ")} in one line" do
      ended = rperf_push(*arguments.map { |one| one == :path ? path : one })
      expect(ended.to_a).to eq(["", "rperf-push: #{message}\n", 1])
    end
  end

  it "never writes over one of its inputs" do
    before = File.binread(path)
    expect(rperf_push("report", "-o", path, path).to_a).to eq(["", "rperf-push: report: #{path} is one of the inputs\n", 1])
    expect(File.binread(path)).to eq(before)
    expect(rperf_push("report", "-o", "#{tmpdir}/out.txt", path).to_a).to eq(["", "", 0])
    expect(File.read("#{tmpdir}/out.txt")).to start_with("Total: 10.0ms")
  end

  it "never writes over one of the files of a folder that it reads" do
    Dir.mkdir(folder = "#{tmpdir}/windows")
    first = file("windows/1.pb.gz", data)
    File.link(first, link = "#{tmpdir}/link.pb.gz")
    before = File.binread(first)
    [["report", folder], ["report", "--dot", folder], ["diff", folder, path]].product([first, link]).each do |arguments, output|
      expect(rperf_push(*arguments, "-o", output).to_a).to eq(["", "rperf-push: #{arguments.first}: #{output} is one of the inputs\n", 1])
    end
    expect(File.binread(first)).to eq(before)
  end
end
