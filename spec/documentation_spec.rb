# frozen_string_literal: true

require "rperf_push"

RSpec.describe "The documentation", :once, :text, :short, :quick do
  root = File.expand_path("..", __dir__)

  it "explains every number of RperfPush.stats, and none that is not there" do
    explained = File.read("#{root}/docs/stats.md").scan(/^\| `(\w+)` \|/).flatten
    expect(explained).to match_array(RperfPush.stats.keys.map(&:to_s))
  end

  it "lists every option in docs/settings.md" do
    page = File.read("#{root}/docs/settings.md")
    listed = page[/^## Options.*?(?=^## )/m].scan(/`(\w+)`/).flatten
    expect(listed).to include(*RperfPush::Configuration::OPTIONS, "logger")
  end

  it "keeps ARCHITECTURE.md short enough to be read" do
    expect(File.readlines("#{root}/ARCHITECTURE.md").size).to be <= 200
  end

  pages = Dir.glob("{,docs,benchmark,examples/*,ext/rperf_push/**}/*.md", base: root)

  it "points to files that exist" do
    missing = pages.flat_map do |page|
      links = File.read("#{root}/#{page}").scan(/\]\(([^)#:]+)(?:#[^)]*)?\)/).flatten
      links.reject { |link| File.exist?(File.expand_path(link, File.dirname("#{root}/#{page}"))) }.map { |link| "#{page}: #{link}" }
    end
    expect(missing).to eq([])
  end

  it "points to headings that exist" do
    anchors = lambda do |page|
      File.read(page).scan(/^#+ (.*)/).flatten.map { |title| title.downcase.gsub(/[^\w\- ]/, "").tr(" ", "-") }
    end
    missing = pages.flat_map do |page|
      links = File.read("#{root}/#{page}").scan(/\]\(([^)#:]*)#([^)]+)\)/)
      links.reject { |file, heading| anchors[file.empty? ? "#{root}/#{page}" : File.expand_path(file, File.dirname("#{root}/#{page}"))].include?(heading) }
    end
    expect(missing).to eq([])
  end

  it "names in CONTRIBUTING.md the files to open for a change" do
    rows = File.read("#{root}/CONTRIBUTING.md")[/^## Where to change what.*?(?=^## )/m].lines.grep(/^\|/).drop(2)
    expect(rows.size).to be >= 10
    missing = rows.flat_map do |row|
      named = row.scan(/`([\w.\/]+)`/).flatten.grep(%r{/|\.\w+\z}).reject { |path| path.include?("NAME") }
      next ["no file in #{row}"] if named.empty?

      named.reject { |path| %W[#{root} #{root}/ext/rperf_push].any? { |folder| File.file?("#{folder}/#{path}") } }
    end
    expect(missing).to eq([])
  end

  it "shows configurations of the backends that are valid" do
    shown = File.read("#{root}/docs/backends.md").scan(/^```ruby\n(.*?)^```/m).flatten
    expect(shown.size).to be >= 6
    shown.each do |code|
      assignments = code[/do \|config\|\n(.*)^end/m, 1] || code
      configure = eval("->(config) { config.enabled = false\n#{assignments} }", binding, "docs/backends.md")
      expect { RperfPush.configure!(&configure) }.not_to raise_error
    end
  end
end
