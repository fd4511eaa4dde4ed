# frozen_string_literal: true

RSpec.describe "ext/rperf_push/core" do
  root = File.expand_path("../ext/rperf_push/core", __dir__)

  it "has never heard of Ruby" do
    sources = Dir["#{root}/*.{c,h}"]
    expect(sources).not_to be_empty
    heard = sources.flat_map do |path|
      File.readlines(path).grep(/\bVALUE\b|\brb_[a-z]|\bRUBY_|#\s*include\s*[<"]ruby/).map { |line| "#{File.basename(path)}: #{line.strip}" }
    end
    expect(heard).to eq([])
  end
end
