# frozen_string_literal: true

require "rperf_push"

# Whose profile it is, and how many processes are in it.
RSpec.describe "the processes of a profile", :interpreted do
  include CommandLine
  include TemporaryFolder

  def part(from, length, **more)
    { mode: :cpu, start_time_ns: from, duration_ns: length, aggregated_samples: [[[["a.rb", "A#work"]], 1, 1, 0]], label_sets: [{}], **more }
  end

  def merged(*parts)
    parts.reduce(RperfPush::Merge.new) { |merge, (process, data)| merge.add(data, process:) }.data
         .slice(:process_count, :total_duration_ns, :duration_ns, :pid, :ppid)
  end

  it "are one for a session" do
    data = RperfPush.start { 1 }
    expect(data).to include(process_count: 1, pid: Process.pid, ppid: Process.ppid, total_duration_ns: data[:duration_ns])
  end

  it "are counted once each, and the time of each counts" do
    first = part(100, 40, pid: 7, ppid: 1)
    expect(merged([7, first], [7, part(140, 10)], [8, part(120, 50)]))
      .to eq(process_count: 2, total_duration_ns: 100, duration_ns: 70, pid: 7, ppid: 1)
    expect(merged([:a, part(100, 40, process_count: 3, total_duration_ns: 90)], [:b, part(120, 50)])).to include(process_count: 4, total_duration_ns: 140)
  end

  %w[p.json p.json.gz p.pb.gz].each do |name|
    it "are kept in #{name}" do
      known = { process_count: 3, pid: 70, ppid: 1, total_duration_ns: 99 }
      RperfPush.save("#{tmpdir}/#{name}", part(1, 50, **known))
      expect(RperfPush.load("#{tmpdir}/#{name}")).to include(known)
    end
  end

  it "are those of a recorded session, which its first one names" do
    program = "puts Process.pid; def burn = (from = Process.clock_gettime(6); nil while Process.clock_gettime(6) - from < 0.1); fork { burn }; burn; Process.wait"
    recorded = rperf_push("record", "-o", "#{tmpdir}/p.json", RbConfig.ruby, "-e", program)
    expect(recorded.status).to eq(0), recorded.err
    data = RperfPush.load("#{tmpdir}/p.json")
    expect(data).to include(process_count: 2, pid: recorded.out.to_i, ppid: be_positive)
    expect(data[:total_duration_ns]).to be > data[:duration_ns]
  end
end
