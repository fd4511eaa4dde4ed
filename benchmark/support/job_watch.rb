# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# Builds job_watch.c, and says how a child gets it.
module JobWatchBuild
  SOURCE = File.expand_path("job_watch.c", __dir__)
  TARGET = File.expand_path("../../tmp/benchmark/#{RUBY_VERSION}/job_watch.so", __dir__)

  module_function

  # @return [Hash{String => String}] the child's environment
  def environment
    build unless FileUtils.uptodate?(TARGET, [SOURCE])
    { "LD_PRELOAD" => TARGET }
  end

  def build
    FileUtils.mkdir_p(File.dirname(TARGET))
    folders = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir").map { |folder| "-I#{folder}" }
    system("cc", "-O2", "-shared", "-fPIC", *folders, SOURCE, "-o", TARGET, "-ldl", exception: true)
  end
end
