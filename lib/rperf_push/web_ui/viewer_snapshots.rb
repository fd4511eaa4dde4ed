# frozen_string_literal: true

require "fileutils"
require "monitor"
require_relative "../base/atomic_file"
require_relative "../data/formats"
require_relative "../base/notice"
require_relative "page"
require_relative "viewer_cluster"

module RperfPush
  # The snapshots that a viewer shows: in memory, or where a cluster has its control sockets, in a folder that its processes share.
  class ViewerSnapshots
    NAME = /\Aviewer-(\d+(?:-\d+)*)\z/

    # @param most [Integer] the oldest goes
    def initialize(most)
      @most = most
      @kept = []
      @lock = Monitor.new
    end

    # Those of a cluster are files from now on, until its master ends.
    #
    # @param cluster [ViewerCluster]
    def share(cluster)
      self.class.sweep(cluster.folder)
      @folder = self.class.made("#{cluster.folder}/viewer-#{cluster.name}")
    rescue SystemCallError => e
      keep_alone(e)
    end

    class << self
      # Takes away what clusters that have ended left. The folder of sockets may have other things, too.
      def sweep(folder)
        Dir.each_child(folder) do |child|
          name = child[NAME, 1] or next
          path = "#{folder}/#{child}"
          FileUtils.rm_rf(path) if ours?(path) && ViewerCluster.new(folder, name).ended?(File.mtime(path))
        end
      end

      # Another worker may have made it.
      #
      # @raise [SystemCallError] also when it is not this user's alone
      def made(path)
        Dir.mkdir(path, 0o700)
        path
      rescue Errno::EEXIST
        ours?(path) ? path : raise(Errno::EPERM, path)
      end

      private

      def ours?(path) = File.lstat(path).then { |stat| stat.directory? && stat.owned? && stat.mode.nobits?(0o077) }
    end

    # @param data [Hash] as {RperfPush.stop} returns it
    # @param note [String, nil] behind its name
    def add(data, note = nil)
      bytes = Formats.encode(data, "snapshot.json.gz")
      name = [Time.at(0, data[:start_time_ns].to_i + data[:duration_ns].to_i, :nanosecond).strftime("%F %T"), note].compact.join(" ")
      @folder ? add_file(name, bytes) : add_entry(name, bytes)
    rescue SystemCallError => e
      keep_alone(e)
      add_entry(name, bytes)
    end

    # Runs the block, unless another process of the cluster does so now, or there is a snapshot that is not so old.
    #
    # @param seconds [Numeric]
    def unless_newer(seconds)
      return yield unless @folder

      File.open("#{@folder}/lock", File::RDWR | File::CREAT, 0o600) do |lock|
        yield if lock.flock(File::LOCK_EX | File::LOCK_NB) && time_of(files.last) < Time.now - seconds
      ensure
        lock.flock(File::LOCK_UN) # a child that was forked meanwhile has the same open file
      end
    end

    # @return [Array<Page::Entry>] the oldest first
    def entries
      return @lock.synchronize { @kept.dup } unless @folder

      files.map { |path| Page::Entry.new(File.basename(path, ".json.gz").split("@", 3).last, nil, -> { File.binread(path) }) }
    end

    private

    def keep_alone(error)
      @folder = nil
      Notice.write("[rperf-push] the viewer's snapshots are not shared with other processes: #{error.message}")
    end

    def add_entry(name, bytes)
      @lock.synchronize do
        @kept << Page::Entry.new(name, nil, -> { bytes })
        @kept.shift while @kept.size > @most
      end
    end

    # Names sort by time, and those of two processes differ.
    def add_file(name, bytes)
      number = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      AtomicFile.write("#{@folder}/#{number}@#{Process.pid}@#{name}.json.gz", bytes)
      FileUtils.rm_f(files[0...-@most])
    end

    # @param path [String, nil]
    def time_of(path) = Time.at(0, path ? File.basename(path).to_i : 0, :nanosecond)

    def files = Dir.glob("#{@folder}/*.json.gz")
  end
end
