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

RSpec.describe "ext/rperf_push/core", :once, :short, :quick do
  graph = IncludeGraph.new(File.expand_path("../ext/rperf_push/core", __dir__))

  include_examples "rooms", graph, %w[base calls settings requests sampling profile encoding http backends spool delivery control]

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
  it "has no line that is longer than a screen, in comments neither" do
    files = Dir[File.expand_path("../{ext,spec,benchmark}/**/*.{c,h}", __dir__)].grep_v(%r{/generated/})
    expect(files.size).to be > 300
    long = files.flat_map { |path| File.foreach(path).with_index(1).filter_map { |line, at| "#{path}:#{at}" if line.chomp.size > 120 } }
    expect(long).to eq([])
  end

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

RSpec.describe "lib/rperf_push" do
  # Each room requires of the rooms before it only. What stands beside them is what users and RUBYOPT require.
  rooms = %w[base settings calls data sessions remote web_ui integrations]
  root = File.expand_path("../lib/rperf_push", __dir__)
  room_of = ->(path) { path.delete_prefix("#{root}/").split("/").first }

  it "is rooms, the command line, and what users require" do
    files = Dir["#{root}/*.rb"].map { |path| File.basename(path, ".rb") }
    expect(Dir["#{root}/*/*.rb"].map { |path| room_of[path] }.uniq).to match_array([*rooms, "cli"])
    expect(files).to match_array(%w[active_job autostart call_session cli control delayed_job inherited injection library opentelemetry pprof_endpoint
                                    rack resque session sidekiq tags verbose version viewer])
  end

  it "has the files that C requires" do
    code = Dir[File.expand_path("../ext/rperf_push/ruby/*/*.c", __dir__)].map { |path| File.read(path) }.join
    required = code.scan(%r{PRIsVALUE "(/rperf_push/[a-z_/]+)"}).flatten
    expect(required).not_to be_empty
    expect(required.reject { |file| File.file?("#{File.dirname(root)}#{file}.rb") }).to eq([])
  end

  it "has arrows between rooms in one direction" do
    required = Dir["#{root}/{#{rooms.join(",")}}/**/*.rb"].flat_map do |path|
      File.read(path).scan(/^\s*require_relative "([^"#]+)"/).map { |(file)| [path, File.expand_path(file, File.dirname(path))] }
    end
    expect(required.size).to be > 80
    upward = required.select { |from, to| rooms.index(room_of[to]).to_i > rooms.index(room_of[from]) }
    expect(upward).to eq([])
  end
end
