# frozen_string_literal: true

module RperfPush
  # Writes a file whole or not at all: the old content stays until the new bytes are on the disk. A new one is only for its owner,
  # because labels can hold users' data.
  module AtomicFile
    module_function

    # @raise [SystemCallError] the old file is then unchanged
    def write(path, bytes)
      return File.binwrite(path, bytes) if special?(path)

      path = File.realpath(path) if File.symlink?(path) && File.exist?(path)
      replace(path, "#{path}.#{Process.pid}-#{Thread.current.object_id}.tmp", bytes)
      bytes.bytesize
    end

    # File::BINARY alone does not keep Encoding.default_internal, which Rails sets, from converting the bytes.
    def replace(path, temporary, bytes)
      File.open(temporary, File::WRONLY | File::CREAT | File::EXCL, mode_of(path), binmode: true) do |file|
        whole = false
        file.write(bytes)
        file.fsync
        File.rename(temporary, path)
        whole = true
      ensure
        discard(temporary) unless whole
      end
    end

    def discard(path)
      File.delete(path)
    rescue Errno::ENOENT
      nil
    end

    # Writes into pipes, terminals and /dev/stdout instead of replacing them.
    def special?(path) = File.exist?(path) && !File.file?(path)

    def mode_of(path) = File.exist?(path) ? File.stat(path).mode & 0o777 : 0o600
    private_class_method :replace, :discard, :mode_of
  end
end
