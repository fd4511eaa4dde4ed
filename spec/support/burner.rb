# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

# The C extension of the specs, built when it is first wanted, once for each Ruby.
module BurnerExtension
  SOURCE = File.expand_path("burner", __dir__)
  FOLDER = File.expand_path("../../tmp/burner/#{RUBY_VERSION}-#{RbConfig::CONFIG["arch"]}", __dir__)

  module_function

  # @return [String] the folder to put on the load path; `require "burner"` finds it there
  def load_path
    FileUtils.mkdir_p(FOLDER)
    File.open(File.join(FOLDER, "lock"), File::CREAT) do |lock|
      lock.flock(File::LOCK_EX)
      build unless fresh?
    end
    FOLDER
  end

  def fresh?
    library = File.join(FOLDER, "burner.#{RbConfig::CONFIG["DLEXT"]}")
    File.exist?(library) && Dir[File.join(SOURCE, "*")].all? { |file| File.mtime(file) <= File.mtime(library) }
  end

  def build
    output, status = Open3.capture2e("#{RbConfig.ruby} #{SOURCE}/extconf.rb && make", chdir: FOLDER)
    raise "the burner extension was not built:\n#{output}" unless status.success?
  end
  private_class_method :fresh?, :build
end
