# frozen_string_literal: true

require_relative "properties/check"

# Laws that hold for every program: a fixed set of random ones. `rake properties` tries new ones, for as long as one likes.
RSpec.describe "The laws of profiles", :interpreted, :waiting do
  seeds = {
    "by start_stop" => [7, 18, 100],
    "by block" => [31, 104],
    "by snapshots" => [4, 58],
    "by inherit" => [2, 66],
    "by defer" => [20, 113],
    "by middle" => [5, 15],
    "by record_cpu" => [4, 52],
    "by record_wall" => [5, 212],
    "by record_both" => [17, 33],
    "by record_all" => [8, 70],
    "by stat" => [9, 49],
    "by exec" => [23, 63],
    "by trace" => [2, 11, 53],
    "by run_directory" => [28, 33],
    "by run_server" => [22, 31, 39, 42, 44, 83],
    "by run_parca" => [24, 29, 61],
    "by run_lost" => [3, 7],
    "by attach" => [21, 119],
    "by live" => [45, 117],
    "by several" => [10, 43]
  }

  seeds.each do |way, numbers|
    numbers.each do |seed|
      it "hold for the program of seed #{seed}, #{way}" do
        expect(Properties::Check.new(out: $stderr).seed(seed, way.delete_prefix("by "))).to eq([])
      end
    end
  end

  it "are tried in each way, and by each kind of task, each ending, each kind of child, and each fault that passes" do
    expect(seeds.keys).to eq(Properties::WAYS.keys.drop(1).map { |way| "by #{way}" })
    plans = seeds.values.flatten.uniq.map { |seed| Properties::Draw.new(seed).plan }
    parts = plans.flat_map(&:parts)
    expect(plans.flat_map(&:tasks).map(&:kind).uniq).to match_array(Properties::Draw::AMOUNTS.keys)
    expect(parts.map(&:ending).uniq).to match_array(Properties::Draw::ENDINGS)
    expect(parts.flat_map(&:children).map(&:how).uniq).to match_array(Properties::Draw::HOWS)
    faults = Properties::PASSING.size
    expect(seeds["by run_server"].map { |seed| seed % faults }).to match_array([*0...faults])
  end
end
