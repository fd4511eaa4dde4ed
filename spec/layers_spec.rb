# frozen_string_literal: true

require "tsort"
require_relative "support/include_graph"

# Each room includes of the rooms before it only.
RSpec.shared_examples "rooms" do |graph, rooms|
  it "is rooms, each of which says what comes in and what goes out" do
    expect(graph.rooms).to match_array(rooms)
    rooms.each { |room| expect(File.read("#{graph.root}/#{room}/README.md")).to include("**In**", "**Out**") }
  end

  it "has arrows between rooms in one direction" do
    upward = graph.arrows.select { |from, to| rooms.index(to.room) > rooms.index(from.room) }
    expect(upward).to eq([])
  end

  it "has no circle of includes" do
    expect(graph.circles).to eq([])
  end

  it "names each file it includes with its room" do
    expect(graph.unknown).to eq([])
  end
end

RSpec.describe "ext/rperf_push/core" do
  graph = IncludeGraph.new(File.expand_path("../ext/rperf_push/core", __dir__))

  include_examples "rooms", graph, %w[base calls settings sampling profile pprof http backends spool delivery control]

  it "has never heard of Ruby" do
    expect(graph.sources).not_to be_empty
    heard = graph.sources.flat_map do |path|
      File.readlines(path).grep(/\bVALUE\b|\brb_[a-z]|\bRUBY_|#\s*include\s*[<"]ruby/).map { |line| "#{File.basename(path)}: #{line.strip}" }
    end
    expect(heard).to eq([])
  end
end

RSpec.describe "ext/rperf_push/ruby" do
  graph = IncludeGraph.new(File.expand_path("../ext/rperf_push/ruby", __dir__), below: "core/")

  include_examples "rooms", graph, %w[vm frames threads captures sampler data calls recordings control session testing]

  it "gives each object a name of its own, because the build puts all into one folder" do
    names = Dir[File.expand_path("../ext/rperf_push/{,core/*/,ruby/*/}*.c", __dir__)].map { |path| File.basename(path) }
    expect(names.tally.select { |_, count| count > 1 }).to eq({})
  end
end

RSpec.describe "ext/rperf_push" do
  it "begins each header with its name, what it is, who may call it, and who owns what" do
    headers = Dir[File.expand_path("../ext/rperf_push/**/*.h", __dir__)].grep_v(%r{/generated/})
    expect(headers.size).to be > 100
    incomplete = headers.reject do |path|
      comment = File.read(path)[%r{\A/\* #{Regexp.escape(File.basename(path))} - .*?\*/}m].to_s
      ["Threads   ", "Ownership "].all? { |part| comment.include?("\n * #{part}") }
    end
    expect(incomplete.map { |path| File.basename(path) }).to eq([])
  end
end
