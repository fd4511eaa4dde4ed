# frozen_string_literal: true

module RperfPush
  # Ruby files by the paths that profiles have: as they are on this machine, from the folder one is in, or a gem's.
  module SourceFiles
    NAME = /\.(?:rb|ru|rake|gemspec|erb|haml|slim|builder|jbuilder)\z/
    MAX_BYTES = 4 * 1024 * 1024

    module_function

    # @return [String, nil] nil when it is not at hand, or no source
    def read(path)
      return if path.include?("\0") || !path.match?(NAME)

      found = candidates(path).find { |file| File.file?(file) && File.size(file) <= MAX_BYTES }
      File.binread(found).force_encoding(Encoding::UTF_8).scrub("?") if found
    rescue SystemCallError
      nil
    end

    # A profile says rack/lib/rack.rb, whatever the version: the newest that is installed.
    def candidates(path)
      gem, rest = path.split("/", 2)
      return [path] if rest.nil? || rest.include?("..") || !gem.match?(/\A[\w-][\w.-]*\z/)

      [path, *installed(gem).map { |folder| File.join(folder, rest) }]
    end

    def installed(gem)
      folders = Gem.path.flat_map { |root| Dir.glob(File.join(root, "gems", "#{gem}-[0-9]*")) }
      folders.sort_by { |folder| Gem::Version.new(folder[/-(\d[\w.]*?)(?:-[\w-]+)?\z/, 1]) }.reverse
    end
    private_class_method :candidates, :installed
  end
end
