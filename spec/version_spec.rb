# frozen_string_literal: true

require "rperf_push/version"

RSpec.describe "RperfPush::VERSION", :once, :short, :quick do
  root = File.expand_path("..", __dir__)

  it "is the core's, and the newest of the change log" do
    header = File.read("#{root}/ext/rperf_push/core/base/version.h")
    expect(header[/define RPP_VERSION "([^"]+)"/, 1]).to eq(RperfPush::VERSION)
    expect(File.read("#{root}/CHANGELOG.md")).to match(/^## .*#{Regexp.escape(RperfPush::VERSION)}/)
  end
end
