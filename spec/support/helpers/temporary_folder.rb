# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# A folder for one example, gone with it.
module TemporaryFolder
  def self.included(group)
    group.after { FileUtils.rm_rf(@temporary_folder) if @temporary_folder }
  end

  # @return [String]
  def tmpdir = @temporary_folder ||= Dir.mktmpdir("rperf-push-")
end
