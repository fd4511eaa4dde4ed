# frozen_string_literal: true

require_relative "properties/check"

# Laws that hold for every program: a fixed set of random ones. `rake properties` tries new ones, for as long as one likes.
RSpec.describe "The laws of profiles" do
  # Between them they have each kind of act, each ending, and each fault of a server.
  seeds = {
    start_stop: [9, 18, 27],
    block: [1, 10, 19, 28],
    snapshots: [11, 29],
    inherit: [12, 21, 30],
    record_cpu: [4, 13, 22, 31],
    record_wall: [5, 14, 23, 32],
    record_both: [6, 15, 33],
    run_directory: [7, 16, 25, 34, 61],
    run_server: [8, 26, 35, 89],
    run_parca: [8, 26, 35],
    defer: [1, 18]
  }

  seeds.each do |way, numbers|
    numbers.each do |seed|
      it "hold for the program of seed #{seed}, by #{way}" do
        expect(Properties::Check.new(out: $stderr).seed(seed, way.to_s)).to eq([])
      end
    end
  end

  it "hold where all of a program is in one window with a long wait" do
    expect(Properties::Check.new(out: $stderr).seed(256, "record_wall")).to eq([])
  end
end
