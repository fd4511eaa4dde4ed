# frozen_string_literal: true

require "rperf_push"

RSpec.describe "The documentation" do
  root = File.expand_path("..", __dir__)

  it "explains every number of RperfPush.stats, and none that is not there" do
    explained = File.read("#{root}/docs/stats.md").scan(/^\| `(\w+)` \|/).flatten
    expect(explained).to match_array(RperfPush.stats.keys.map(&:to_s))
  end

  it "lists every option in the README" do
    readme = File.read("#{root}/README.md")
    listed = readme[/^## Options.*?(?=^## )/m].scan(/`(\w+)`/).flatten
    expect(listed).to include(*RperfPush::Configuration::OPTIONS, "logger")
  end

  it "keeps ARCHITECTURE.md short enough to be read" do
    expect(File.readlines("#{root}/ARCHITECTURE.md").size).to be <= 200
  end

  it "points to files that exist" do
    %w[README.md ARCHITECTURE.md CONTRIBUTING.md docs/stats.md docs/backends.md docs/delivery.md].each do |page|
      links = File.read("#{root}/#{page}").scan(/\]\(([^)#:]+)\)/).flatten
      missing = links.reject { |link| File.exist?(File.expand_path(link, File.dirname("#{root}/#{page}"))) }
      expect(missing).to eq([]), "#{page}: #{missing}"
    end
  end

  it "shows configurations of the backends that are valid" do
    shown = File.read("#{root}/docs/backends.md").scan(/^```ruby\n(.*?)^```/m).flatten
    expect(shown.size).to be >= 6
    shown.each do |code|
      assignments = code[/do \|config\|\n(.*)^end/m, 1] || code
      configure = eval("->(config) { config.enabled = false\n#{assignments} }", binding, "docs/backends.md") # rubocop:disable Security/Eval
      expect { RperfPush.configure!(&configure) }.not_to raise_error
    end
  end
end
