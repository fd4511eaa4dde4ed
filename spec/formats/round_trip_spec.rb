# frozen_string_literal: true

require "rperf_push"
require_relative "../support/pprof_builder"

# Data by hand, so that every number is known.
RSpec.describe "files of profiles", :once, :short do
  include TemporaryFolder

  leaf = ["app.rb", "Shop#total"]
  root = ["app.rb", "<main>"]
  sleep = ["<C method>", "Kernel#sleep"]

  let(:data) do
    {
      mode: :cpu, frequency: 250, start_time_ns: 1_700_000_000_000_000_001, duration_ns: 5_000_000_007,
      trigger_count: 1234, sampling_count: 1200, sampling_time_ns: 56_789, detected_thread_count: 2,
      unique_frames: 3, unique_stacks: 3,
      aggregated_samples: [[[leaf, root], 3_000_000, 1, 0], [[sleep, root], 1_000_000, 2, 1], [[root], 5, 1, 2]],
      label_sets: [{}, { "%GVL": "blocked", request: "x" }, { request: "abc", "ключ": "знач; ение" }]
    }
  end

  def round_trip(name, data, **options)
    RperfPush.save("#{tmpdir}/#{name}", data, **options)
    RperfPush.load("#{tmpdir}/#{name}")
  end

  %w[p.json p.json.gz p.pb.gz].each do |name|
    it "keeps everything in #{name}" do
      expect(round_trip(name, data)).to include(data)
    end

    it "keeps a second value and lines in #{name}" do
      both = data.merge(mode: %i[cpu wall], values: { wall: [4_000_000, 9_000_000, 0] })
      both[:aggregated_samples] = both[:aggregated_samples].map do |frames, *rest|
        [frames.each_with_index.map { |frame, index| [*frame, index + 7] }, *rest]
      end
      expect(round_trip(name, both)).to include(both.except(:unique_frames))
    end

    it "keeps values that are no time in #{name}" do
      counted = data.merge(mode: :requests, units: { requests: "count" })
      expect(round_trip(name, counted)).to include(mode: :requests, units: { requests: "count" })
    end

    it "keeps labels of other producers in #{name}: numbers, with their units, and long texts" do
      sets = [{}, { bytes: [512, "kilobytes"], "%GVL": "wait", sql: "select #{"x" * 1000}" }, { bytes: 512, request: "7" }, { bytes: [-1, "bytes"], __id: "y" },
              (1..100).to_h { |i| [:"k#{i}", i] }]
      foreign = data.merge(label_sets: sets, aggregated_samples: Array.new(5) { |i| [[leaf, root], i + 1, 1, i] })
      expect(round_trip(name, foreign)).to include(foreign.slice(:label_sets, :aggregated_samples))
    end

    it "keeps many kinds of values in #{name}" do
      many = data.merge(mode: :requests, values: (1..63).to_h { |i| [:"value#{i}", [i, -i, 0]] },
                        units: { requests: "count", **(1..63).to_h { |i| [:"value#{i}", "unit#{i}"] } })
      expect(round_trip(name, many)).to include(many.slice(:values, :units))
    end

    it "keeps a profile without samples in #{name}" do
      empty = data.merge(aggregated_samples: [], label_sets: [{}])
      expect(round_trip(name, empty)).to include(aggregated_samples: [], mode: :cpu)
    end
  end

  it "refuses in a line to write a pprof that could not be read again" do
    values = (1..64).to_h { |i| [:"value#{i}", [1, 1, 1]] }
    expect { round_trip("p.pb.gz", data.merge(values:)) }
      .to raise_error(ArgumentError, "a pprof that RperfPush.load reads has at most 64 kinds of values, got 65")
    labels = (1..256).to_h { |i| [:"k#{i}", "v"] }
    expect { round_trip("p.pb.gz", data.merge(label_sets: [{}, labels, {}])) }
      .to raise_error(ArgumentError, "a pprof that RperfPush.load reads has at most 255 labels of a sample, got 256")
    expect(Dir.children(tmpdir)).to eq([])
  end

  it "keeps what another producer wrote, whatever is a number there, through JSON and back" do
    foreign = PprofBuilder.new(types: [%w[alloc_objects count], %w[alloc_space bytes]])
    foreign.sample(["make", "<main>"], [2, 4096], { "bytes" => 2048, "who" => "me", "thread_seq" => 3 })
    label = foreign.message.sample.first.label.find { |one| one.num == 2048 }
    label.num_unit = foreign.string("bytes")
    File.binwrite("#{tmpdir}/go.pb.gz", foreign.gzip)
    first = RperfPush.load("#{tmpdir}/go.pb.gz")
    expect(first[:label_sets]).to eq([{}, { bytes: [2048, "bytes"], who: "me" }])
    kept = %i[mode values units label_sets aggregated_samples]
    second = round_trip("p.pb.gz", round_trip("p.json.gz", first))
    expect(second.slice(*kept)).to eq(first.slice(*kept))
    merged = RperfPush::Merge.new.add(first).add(second).data
    expect(merged).to include(label_sets: first[:label_sets], values: { alloc_space: [4096, 4096] })
  end

  it "keeps raw samples in JSON, and frames that are equal as one" do
    raw = data[:aggregated_samples].flat_map { |sample| [sample, sample] }
    read = round_trip("p.json", data.merge(raw_samples: raw))
    expect(read).to include(data.merge(raw_samples: raw))
    roots = (read[:raw_samples] + read[:aggregated_samples]).map { |frames,| frames.last }
    expect(roots.uniq(&:object_id).size).to eq(1)
  end

  it "writes stacks from the root, weights in nanoseconds, into collapsed files" do
    RperfPush.save("#{tmpdir}/p.collapsed", data)
    expect(File.read("#{tmpdir}/p.collapsed"))
      .to eq("<main>;Shop#total 3000000\n<main>;Kernel#sleep 1000000\n<main> 5\n")
    read = RperfPush.load("#{tmpdir}/p.collapsed")
    expect(read[:aggregated_samples].first).to eq([[["", "Shop#total"], ["", "<main>"]], 3_000_000, 1, 0])
  end

  it "sums in a collapsed file what differs in labels or thread only, and keeps separators out of names" do
    frame = ["a.rb", "Weird;name\nhere"]
    samples = [[[frame, root], 1, 1, 0], [[frame, root], 2, 2, 1]]
    expect(RperfPush::Collapsed.encode(data.merge(aggregated_samples: samples))).to eq("<main>;Weird:name here 3\n")
    same_name = [[[["a.rb", "A#x"], root], 1, 1, 0], [[["b.rb", "A#x"], root], 2, 1, 0], [[], -(2**63) + 1, 1, 0]]
    expect(RperfPush::Collapsed.encode(data.merge(aggregated_samples: same_name)))
      .to eq("<main>;A#x 3\n -9223372036854775807\n")
    expect([data.merge(aggregated_samples: []), {}].map { |nothing| RperfPush::Collapsed.encode(nothing) }).to eq(["", ""])
  end

  it "keeps what the weights of a collapsed file are" do
    counted = data.merge(mode: :alloc, units: { alloc_objects: "count", alloc_space: "bytes" })
    RperfPush.save("#{tmpdir}/p.collapsed", counted)
    expect(File.read("#{tmpdir}/p.collapsed").lines.first).to eq("# alloc_objects count\n")
    read = RperfPush.load("#{tmpdir}/p.collapsed")
    expect(read).to include(mode: :alloc_objects, units: { alloc_objects: "count" })
    expect(read[:aggregated_samples].map { |_, weight| weight }).to eq([3_000_000, 1_000_000, 5])
    expect([{ aggregated_samples: [] }, {}].map { |nothing| RperfPush::Text.encode(nothing) }).to all(eq("No samples recorded.\n"))
    expect(RperfPush::Text.encode(read)).to start_with("Total: 4,000,005 count (alloc_objects)\n")
  end

  it "takes the weights of a collapsed file of others for samples, unless they come to a millisecond" do
    names = ["main;work 700000\nmain;rest 299999\n", "main;work 700000\nmain;rest 300000\n", "#<A>;work 1000000\n"].map do |text|
      File.write("#{tmpdir}/others", text)
      RperfPush::Values.names(RperfPush.load("#{tmpdir}/others"))
    end
    expect(names).to eq([[:samples], [:wall], [:wall]])
  end

  it "writes the guide's text report" do
    RperfPush.save("#{tmpdir}/p.txt", data)
    expect(File.read("#{tmpdir}/p.txt")).to eq(<<~TEXT)
      Total: 4.0ms (cpu)
      Samples: 1200, Frequency: 250Hz

       Flat:
                  3.0 ms  75.0%  Shop#total (app.rb)
                  1.0 ms  25.0%  Kernel#sleep (<C method>)
                  0.0 ms   0.0%  <main> (app.rb)

       Cumulative:
                  4.0 ms 100.0%  <main> (app.rb)
                  3.0 ms  75.0%  Shop#total (app.rb)
                  1.0 ms  25.0%  Kernel#sleep (<C method>)
    TEXT
  end

  it "says how much of the time was GC's" do
    gc = data.merge(label_sets: [{}, { "%GC": "mark" }, { "%GC": "sweep" }])
    expect(RperfPush::Text.encode(gc)).to include("\nGC: 1.0ms (25.0%)\n")
  end

  it "counts a recursive function once" do
    deep = data.merge(aggregated_samples: [[[leaf, leaf, leaf, root], 8_000_000, 1, 0]])
    expect(RperfPush::Text.encode(deep)[/Cumulative.*/m].scan("100.0%").size).to eq(2)
  end

  it "takes the format from the extension, from the argument, or else writes pprof" do
    %w[a.json b.json.gz c.pb.gz d.collapsed e.txt f].each { |name| RperfPush.save("#{tmpdir}/#{name}", data) }
    RperfPush.save("#{tmpdir}/g.dat", data, format: :text)
    begins = Dir["#{tmpdir}/*"].to_h { |path| [File.basename(path), File.binread(path, 2)] }
    expect(begins).to eq("a.json" => "{\"", "b.json.gz" => "\x1F\x8B".b, "c.pb.gz" => "\x1F\x8B".b, "d.collapsed" => "<m",
                         "e.txt" => "To", "f" => "\x1F\x8B".b, "g.dat" => "To")
    expect { RperfPush.save("#{tmpdir}/h", data, format: :xml) }
      .to raise_error(ArgumentError, "format must be one of :json, :pprof, :collapsed, :text, got :xml")
  end

  it "looks inside a file, not at its name" do
    RperfPush.save("#{tmpdir}/one", data, format: :json)
    RperfPush.save("#{tmpdir}/two.json", data, format: :pprof)
    RperfPush.save("#{tmpdir}/three.pb.gz", data, format: :collapsed)
    File.binwrite("#{tmpdir}/four.json", Zlib.gunzip(RperfPush::PProf.encode(data)))
    expect(%w[one two.json four.json].map { |name| RperfPush.load("#{tmpdir}/#{name}")[:aggregated_samples] })
      .to all(eq(data[:aggregated_samples]))
    expect(RperfPush.load("#{tmpdir}/three.pb.gz")[:aggregated_samples].size).to eq(3)
  end

  it "begins a JSON file with what a reader of many files wants" do
    bytes = RperfPush::JSONFile.encode(data.merge(gc_stats: { minor_count: 3 }, meta: { labels: { run: "7" } }))
    expect(bytes).to start_with('{"meta":{"format_version":1,')
    head = RperfPush::JSONFile.head(bytes)
    expect(head[:meta]).to include(mode: "cpu", ruby_version: RUBY_VERSION, labels: { run: "7" })
    expect(head[:summary]).to include(total_ms: 5000.0, gc_count_minor: 3, samples: 1200)
    expect(head[:summary][:top_methods].first).to eq(name: "Shop#total", self_pct: 75.0, total_pct: 75.0)
  end

  it "reads no more of a file than its head" do
    odd = data.merge(meta: { labels: { "q" => "a } \" {\\" } })
    odd[:aggregated_samples] = Array.new(20_000) { |i| [[["a.rb", "M#m#{i}"], root], i + 1, 1, 0] }
    RperfPush.save("#{tmpdir}/p.json.gz", odd)
    File.truncate("#{tmpdir}/p.json.gz", File.size("#{tmpdir}/p.json.gz") / 2)
    expect { RperfPush.load("#{tmpdir}/p.json.gz") }.to raise_error(RperfPush::FormatError)
    head = RperfPush.read_meta("#{tmpdir}/p.json.gz")
    expect(head[:meta]).to include(mode: "cpu", labels: { q: "a } \" {\\" })
    expect(head[:summary]).to include(samples: 1200, top_methods: have_attributes(size: 50))
  end

  it "has no head to read where there is none" do
    RperfPush.save("#{tmpdir}/p.pb.gz", data)
    RperfPush.save("#{tmpdir}/p.txt", data)
    File.write("#{tmpdir}/old.json", '{"mode":"cpu","aggregated_samples":[]}')
    File.write("#{tmpdir}/cut.json", '{"meta":{"mode":"c')
    %w[p.pb.gz p.txt old.json cut.json none].each { |name| expect(RperfPush.read_meta("#{tmpdir}/#{name}")).to be_nil }
    File.write("#{tmpdir}/half.json", '{"meta":{"git":{"sha":"a"}}')
    expect(RperfPush.read_meta("#{tmpdir}/half.json")).to eq(meta: { git: { sha: "a" } }, summary: nil)
  end

  it "is read by `go tool pprof`, states under the names of the guide" do
    skip "no Go here" unless system("go version", out: File::NULL, err: File::NULL)
    RperfPush.save("#{tmpdir}/p.pb.gz", data)
    top = IO.popen(["go", "tool", "pprof", "-top", "-tagfocus=%GVL=blocked", "#{tmpdir}/p.pb.gz"], err: File::NULL, &:read)
    expect(top).to include("Kernel#sleep").and include("Type: cpu")
    expect(top).not_to include("Shop#total")
  end

  describe "writing" do
    it "keeps the old file when the new one cannot be written, and leaves nothing behind" do
      skip "root writes anywhere" if Process.uid.zero? && !File.exist?("/dev/full")
      path = "#{tmpdir}/p.json"
      File.write(path, "old")
      allow(File).to receive(:rename).and_raise(Errno::ENOSPC)
      expect { RperfPush.save(path, data) }.to raise_error(Errno::ENOSPC)
      expect([File.read(path), Dir.children(tmpdir)]).to eq(["old", ["p.json"]])
    end

    it "says why, for a folder that is not there" do
      expect { RperfPush.save("#{tmpdir}/none/p.json", data) }.to raise_error(Errno::ENOENT)
    end

    it "keeps the old file when the data is none" do
      path = "#{tmpdir}/p.pb.gz"
      File.write(path, "old")
      bad = [nil, {}, { aggregated_samples: [[1, 2]] }, data.merge(aggregated_samples: [[[["a"]], 1, 1, 0]]),
             data.merge(aggregated_samples: [[[leaf], 1, 1, 99]]), data.merge(aggregated_samples: [[[leaf], "1", 1, 0]])]
      bad.each { |one| expect { RperfPush.save(path, one) }.to raise_error(ArgumentError) }
      expect(File.read(path)).to eq("old")
    end

    it "keeps the mode of the file that it replaces, and follows a link" do
      File.write("#{tmpdir}/real", "old", perm: 0o600)
      File.symlink("#{tmpdir}/real", "#{tmpdir}/link.txt")
      RperfPush.save("#{tmpdir}/link.txt", data)
      expect(File.symlink?("#{tmpdir}/link.txt")).to be(true)
      expect([File.read("#{tmpdir}/real")[0, 5], File.stat("#{tmpdir}/real").mode & 0o777]).to eq(["Total", 0o600])
    end
  end
end
