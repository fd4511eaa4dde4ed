# frozen_string_literal: true

require_relative "../support/profile_page"
require_relative "../support/pprof_builder"

# A level is how much there is at the end of a window: of each process the latest one is shown, not the sum.
RSpec.describe "The page of levels", :once do
  include ProfilePage

  second = 1_000_000_000
  time = ["cpu", "nanoseconds"]
  levels = [%w[inuse_objects count], %w[inuse_space bytes]]
  name = ->(pid, number) { "shop-20261121T10153#{number}.000Z-#{pid}-#{number}.pb.gz" }
  window = lambda do |number, *samples, types: [time, *levels]|
    samples.each_with_object(PprofBuilder.new(types:, time_nanos: number * second)) { |sample, pprof| pprof.sample(*sample) }.gzip
  end

  def boxes(files, value)
    browser.show(page(files), value:).boxes
  end

  it "shows the latest level of each process, and the sum of what is none" do
    files = { name.(7, 2) => window.(2, [["Shop#keep"], [second, 30, 3000]]),
              name.(7, 1) => window.(1, [["Shop#waste"], [second, 900, 90_000]]),
              name.(8, 1) => window.(1, [["Shop#cache"], [0, 10, 1000]]) }
    %w[inuse_objects inuse_space].each do |value|
      expect(boxes(files, value)).to match(shares("all" => 1, "Shop#keep" => 0.75, "Shop#cache" => 0.25))
    end
    expect(boxes(files, "cpu")).to match(shares("all" => 1, "Shop#keep" => 0.5, "Shop#waste" => 0.5))
  end

  it "takes a level of nothing for what it is, and a window without a level for none" do
    files = { name.(7, 1) => window.(1, [["Shop#keep"], [second, 30, 3000]]),
              name.(7, 2) => window.(2, [["Shop#call"], [second, 0, 0]]),
              name.(8, 1) => window.(1, [["Shop#cache"], [0, 10, 1000]]),
              name.(8, 2) => window.(2, [["Shop#call"], [second]], types: [time]) }
    expect(boxes(files, "inuse_objects")).to match(shares("all" => 1, "Shop#cache" => 1))
  end
end
