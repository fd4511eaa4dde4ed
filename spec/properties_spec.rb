# frozen_string_literal: true

require_relative "properties/check"

# Laws that hold for every program: a fixed set of random ones. `rake properties` tries new ones, for as long as one likes.
RSpec.describe "The laws of profiles" do
  seeds = {
    start_stop: [9, 18, 27],
    block: [1, 10, 19, 28],
    snapshots: [14, 26, 29],
    inherit: [12, 21, 30],
    record_cpu: [4, 13, 22, 31],
    record_wall: [5, 14, 23, 32],
    record_both: [6, 15, 33],
    run_directory: [7, 16, 25, 34, 61],
    run_server: [25, 26, 30, 33, 34, 35, 89],
    run_parca: [8, 16, 30, 31, 33, 35],
    defer: [1, 18]
  }

  seeds.each do |way, numbers|
    numbers.each do |seed|
      it "hold for the program of seed #{seed}, by #{way}" do
        expect(Properties::Check.new(out: $stderr).seed(seed, way.to_s)).to eq([])
      end
    end
  end

  it "are held by each kind of act, each ending, each kind of child, and each fault of each server" do
    plans = seeds.values.flatten.uniq.map { |seed| Properties::Draw.new(seed).plan }
    parts = plans.flat_map(&:parts)
    expect(plans.flat_map(&:acts).map(&:kind).uniq).to match_array(Properties::Draw::AMOUNTS.keys)
    expect(parts.map(&:ending).uniq).to match_array(Properties::Draw::ENDINGS)
    expect(parts.flat_map(&:children).map(&:how).uniq).to match_array(Properties::Draw::HOWS)
    faults = Properties::Runner::FAULTS.size
    expect(seeds.values_at(:run_server, :run_parca).map { |some| some.map { |seed| seed % faults }.uniq.sort }).to all(eq([*0...faults]))
  end

  it "hold where all of a program is in one window with a long wait" do
    expect(Properties::Check.new(out: $stderr).seed(256, "record_wall")).to eq([])
  end
end
