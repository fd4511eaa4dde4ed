# frozen_string_literal: true

require_relative ".."
require_relative "../base/atomic_file"
require_relative "../sessions/session_folder"
require_relative "errors"

module RperfPush
  module CLI
    # Where a profile goes: asked before the command runs, and told in one line when it fails.
    module OutputFile
      DEFAULT = "rperf-push.json.gz"

      module_function

      def check(name, path)
        return if File.exist?(path) && !File.directory?(path) && File.writable?(path) && File.writable?(File.dirname(path))
        raise Error, "#{name}: #{path}: is a directory" if File.directory?(path)

        File.open(path, File::WRONLY | File::CREAT | File::EXCL) { nil }
        File.delete(path)
      rescue Errno::EEXIST
        raise Error, "#{name}: #{path}: Permission denied" unless AtomicFile.special?(path)
      rescue SystemCallError => e
        raise Error, "#{name}: #{path}: #{CLI.reason(e)}"
      end

      def save(name, path, data, format = nil)
        RperfPush.save(path, data, format:)
      rescue SystemCallError => e
        raise Error, "#{name}: #{path}: #{CLI.reason(e)}; the profile is #{elsewhere(path, data, format)}"
      end

      # The disk may have filled up while the command ran.
      def elsewhere(path, data, format)
        other = File.join(SessionFolder.own_base, "#{Process.pid}-#{File.basename(path)}")
        RperfPush.save(other, data, format: Formats.for_path(path, format))
        "in #{other}"
      rescue SystemCallError
        "lost"
      end
      private_class_method :elsewhere
    end
  end
end
