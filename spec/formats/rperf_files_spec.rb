# frozen_string_literal: true

require "rperf_push"

# Files that rperf itself has written, of each version whose files are to be read, of the program spec/formats/rperf/shop.rb. In each
# folder, wall.* is one recording of several processes in every format; what rperf prints of it stands in wall.txt and wall.table.
RSpec.describe "Files of rperf", :once do
  include CommandLine

  versions = %w[0.9.0 0.10.0 0.11.0]
  row = /^ +([\d.]+) ms +([\d.]+)%  (.+?)(?: \(.*\))?$/

  def path(version, name) = File.expand_path("rperf/#{version}/#{name}", __dir__)

  # Sums of stacks, with what the format has beside them. In pprof a label that is empty is none.
  def sums(data, *parts)
    data[:aggregated_samples].each_with_object(Hash.new(0)) do |(frames, weight, seq, set), all|
      one = { path: frames.map(&:first), seq:, labels: data[:label_sets][set].transform_keys(&:to_s).sort }
      all[[frames.map { |frame| frame[1] }, *one.values_at(*parts)]] += weight
    end
  end

  versions.each do |version|
    describe version do
      define_method(:profile) { |name = "wall.json.gz"| RperfPush.load(path(version, name)) }

      it "says the same in each format" do
        whole = profile
        expect(whole[:aggregated_samples].size).to be > 20
        expect(whole).to include(mode: :wall, frequency: 1000)
        expect(sums(profile("wall.pb.gz"), :path, :seq, :labels)).to eq(sums(whole, :path, :seq, :labels))
        expect(profile("wall.pb.gz").slice(:mode, :frequency, :duration_ns)).to eq(whole.slice(:mode, :frequency, :duration_ns))
        expect(sums(profile("wall.collapsed"))).to eq(sums(whole))
        expect(profile("cpu.pb.gz")).to include(mode: :cpu, frequency: 1000)
      end

      it "has the figures that rperf prints" do
        theirs = File.read(path(version, "wall.txt"), encoding: "UTF-8")
        ours = rperf_push("report", "--text", path(version, "wall.json.gz")).out
        expect(ours.lines.first(2)).to eq(theirs.lines.first(2))
        tables = [theirs, ours].map { |text| text.delete(",").split(" Cumulative:").map { |table| table.scan(row).sort } }
        expect(tables.last).to eq(tables.first)
        next unless File.exist?(path(version, "wall.table"))

        methods = [File.read(path(version, "wall.table")), rperf_push("report", "--format", "table", path(version, "wall.json.gz")).out]
        expect(methods.map { |text| text.lines.grep_v(/^#/).sort }.uniq.size).to eq(1)
      end

      it "keeps labels of the program, of states, and of processes" do
        data = profile
        expect(data[:label_sets].flat_map(&:keys).uniq).to include(:order, :tenant, :"%GVL", :"%GC", :"%pid")
        expect(data[:label_sets]).to include({ order: "büro" }).and include(include("%pid": match(/\A\d+\z/), order: "child"))
        expect(rperf_push("report", "--by-label", "order", path(version, "wall.pb.gz")).out.scan(/%  (\S+)$/).flatten).to match_array(%w[(none) büro home child])
      end

      it "has every sample where rperf kept them apart" do
        data = profile("raw.json.gz")
        expect(data[:raw_samples].size).to be > data[:aggregated_samples].size
        expect(data[:raw_samples].sum { |sample| sample[1] }).to eq(data[:aggregated_samples].sum { |sample| sample[1] })
      end

      it "is saved, loaded, shown and compared as one of ours" do
        RperfPush.save("#{tmpdir}/ours.json", profile)
        expect(sums(RperfPush.load("#{tmpdir}/ours.json"), :path, :seq, :labels)).to eq(sums(profile, :path, :seq, :labels))
        expect(rperf_push("diff", path(version, "wall.json.gz"), "#{tmpdir}/ours.json").out.scan("no difference").size).to eq(2)
        expect(rperf_push("report", "--text", path(version, "wall.txt")).to_a)
          .to eq(["", "rperf-push: report: #{path(version, "wall.txt")}: a text report, from which no profile can be read\n", 1])
      end
    end
  end

  it "of 0.10 and later begin with meta and summary, which are read and kept" do
    heads = versions.to_h { |version| [version, RperfPush.read_meta(path(version, "wall.json.gz"))] }
    expect(heads["0.9.0"]).to be_nil
    heads.drop(1).each do |version, head|
      expect(head[:meta]).to include(format_version: 1, rperf_version: version, mode: "wall", hostname: "shop", git: include(subject: "Shop"))
      data = RperfPush.load(path(version, "wall.json.gz"))
      ours = RperfPush::Meta.summary_of(data)
      expect(head[:summary].keys).to match_array(ours.keys)
      expect(head[:summary][:top_methods]).to match_array(ours[:top_methods])
      RperfPush.save("#{tmpdir}/ours.json", data)
      expect(RperfPush.read_meta("#{tmpdir}/ours.json")[:meta]).to include(head[:meta])
    end
  end

  it "of several versions are one profile, beside files of ours" do
    files = versions.map { |version| path(version, "wall.json.gz") }
    total = files.sum { |file| RperfPush.load(file)[:aggregated_samples].sum { |sample| sample[1] } }
    expect(rperf_push("report", *files).out).to start_with(format("Total: %.1fms (wall)\n", total / 1e6))
  end
end
