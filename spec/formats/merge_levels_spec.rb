# frozen_string_literal: true

require "rperf_push"

# A level is how much there is at the end of a window: of each process the latest one counts.
RSpec.describe RperfPush::Merge, :once do
  def part(objects, at:, leak: "a.rb")
    { mode: :heap, start_time_ns: at, duration_ns: 10, aggregated_samples: [[[[leak, "Leak#make"]], objects, 0, 0]], label_sets: [{}],
      values: { inuse_space: [objects * 40] }, units: { inuse_objects: "count", inuse_space: "bytes" } }
  end

  def levels(merge) = merge.data.then { |data| [data[:aggregated_samples].sum { |sample| sample[1] }, data[:values][:inuse_space].sum] }

  it "takes the latest level of each process, in any order, and adds processes up" do
    merge = described_class.new
    merge.add(part(500, at: 300), process: 1).add(part(900, at: 100), process: 1).add(part(20, at: 50), process: 2)
    expect(levels(merge)).to eq([520, 520 * 40])
  end

  it "replaces a level by one of nothing" do
    merge = described_class.new.add(part(500, at: 300), process: 1).add(part(0, at: 400), process: 1).add(part(20, at: 50), process: 2)
    expect(levels(merge)).to eq([20, 20 * 40])
  end

  it "does not take a part of a window without a level for a level of nothing" do
    window = { **part(7, at: 300), mode: %i[cpu heap], values: { inuse_objects: [500], inuse_space: [20_000] } }
    late = { **part(7, at: 400), mode: %i[cpu], values: {} }
    values = described_class.new.add(window, process: 1).add(late, process: 1).data[:values]
    expect(values.transform_values(&:sum)).to eq({ inuse_objects: 500, inuse_space: 20_000 })
  end

  it "adds up what is no level, as ever" do
    both = { **part(500, at: 1), mode: %i[cpu heap], values: { inuse_objects: [500], inuse_space: [20_000] } }
    data = described_class.new.add(both, process: 1).add({ **both, start_time_ns: 2 }, process: 1).data
    expect(data[:aggregated_samples].sum { |sample| sample[1] }).to eq(1000)
    expect(data[:values]).to eq({ inuse_objects: [500], inuse_space: [20_000] })
  end
end
