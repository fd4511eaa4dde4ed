# frozen_string_literal: true

module RperfPush
  # git, for what only git can read: an object that may be in a pack. It runs in an empty repository of our own, to which the other one
  # only lends its objects: it reads no configuration of that one, finds no hook, filter, or attribute, and has no remote to ask.
  module GitProcess
    SECONDS = 5 # objects of others may be a FIFO, or unpack to gigabytes
    MAX_BYTES = 64 * 1024
    CONFIG = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = %s\n"

    module_function

    # @param objects [String] the folder of the repository's objects
    # @param id [String]
    # @return [String, nil] nil where there is no git, or no such commit
    def commit(objects, id)
      require "tmpdir" # not where a program only loads this: Bundler may be about to choose its version
      Dir.mktmpdir("rperf-push-git-") do |folder|
        %w[objects refs].each { |name| Dir.mkdir("#{folder}/#{name}") }
        File.binwrite("#{folder}/HEAD", "ref: refs/heads/none\n")
        File.binwrite("#{folder}/config", format(CONFIG, id.size == 64 ? "sha256" : "sha1"))
        output([environment(folder, objects), "git", "cat-file", "commit", id], folder)
      end
    rescue SystemCallError
      nil
    end

    # What the caller's variables say of git may be meant for another repository. A PATH with "." in it finds the git that a folder has.
    def environment(folder, objects)
      path = ENV.fetch("PATH", "").split(":").select { |place| place.start_with?("/") }.join(":")
      ours = { "GIT_DIR" => folder, "GIT_OBJECT_DIRECTORY" => objects, "GIT_NO_LAZY_FETCH" => "1",
               "GIT_CONFIG_NOSYSTEM" => "1", "GIT_CONFIG_GLOBAL" => File::NULL, "PATH" => path }
      ENV.keys.grep(/\AGIT_/).to_h { |name| [name, nil] }.merge(ours)
    end

    def output(command, folder)
      read, write = IO.pipe(binmode: true)
      pid = Process.spawn(*command, in: File::NULL, out: write, err: File::NULL, chdir: folder, rlimit_cpu: SECONDS)
      write.close
      bytes = read_until(read, Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS)
      Process.kill(:KILL, pid) unless bytes
      bytes if Process.wait2(pid).last.success?
    ensure
      [read, write].compact.each(&:close)
    end

    # @return [String, nil] nil: too many bytes, or too late
    def read_until(pipe, deadline)
      bytes = "".b
      loop do
        left = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        return if left <= 0 || bytes.bytesize > MAX_BYTES || !pipe.wait_readable(left)

        bytes << pipe.readpartial(MAX_BYTES)
      end
    rescue EOFError
      bytes
    end
    private_class_method :environment, :output, :read_until
  end
end
