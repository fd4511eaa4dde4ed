# frozen_string_literal: true

require_relative "properties/check"

# Laws that hold for every program: a fixed set of random ones. `rake properties` tries new ones, for as long as one likes.
RSpec.describe "The laws of profiles" do
  # Between them they have each way twice or more, each kind of act, each ending, and a wait that is longer than some windows.
  seeds = [1, *4..16, 18, 19, *21..23, *25..35, 61, 89]

  seeds.each do |seed|
    it "hold for the program of seed #{seed}" do
      expect(Properties::Check.new(out: $stderr).seed(seed)).to eq([])
    end
  end

  it "hold where all of a program is in one window with a long wait" do
    expect(Properties::Check.new(out: $stderr).seed(256, "record_wall")).to eq([])
  end
end
