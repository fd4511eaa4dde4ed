# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# Profiling runs in the specs' own process while the group's examples do, into a folder that nobody looks at.
RSpec.shared_context "while profiling runs" do
  before(:all) do
    @profiles = folder = Dir.mktmpdir("rperf-push-")
    RperfPush.configure! do |config|
      config.backend = :directory
      config.directory = folder
    end
  end

  after(:all) do
    RperfPush.shutdown
    FileUtils.rm_rf(@profiles)
  end
end
