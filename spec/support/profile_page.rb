# frozen_string_literal: true

require "rperf_push"
require "rperf_push/web_ui/page"
require "tmpdir"
require_relative "chromium"

# A browser for all examples of a group, and pages of profiles to look at.
module ProfilePage
  def self.included(group)
    group.before(:context) do
      @browser = Chromium.new
      @folder = Dir.mktmpdir("page-")
    end
    group.after(:context) do
      @browser&.quit
      FileUtils.rm_rf(@folder)
    end
  end

  attr_reader :browser, :folder

  # @param profiles [Hash{String => Hash, String}] data, or the bytes of a file
  # @return [String] its address
  def page(profiles, sides: {}, state: nil)
    entries = profiles.map do |name, content|
      bytes = content.is_a?(Hash) ? RperfPush::Formats.encode(content, name) : content
      RperfPush::Page::Entry.new(name, sides[name], -> { bytes })
    end
    path = "#{folder}/#{profiles.keys.first}-#{profiles.hash.abs}-#{sides.size}.html"
    File.write(path, RperfPush::Page.as_one_file("page", entries, state:))
    "file://#{path}"
  end

  # @param amounts [Hash{Object => Numeric}]
  def shares(amounts) = amounts.transform_values { |share| be_within(0.002).of(share) }
end
