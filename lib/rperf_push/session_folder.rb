# frozen_string_literal: true

require "fileutils"
require "json"
require "securerandom"
require "tmpdir"
require_relative "formats"
require_relative "merge"

module RperfPush
  # The folder of one `record`. Its processes write their windows (PID-TIME.pb.gz) and, at their end, their resource usage
  # (PID.json) into it, and this class merges them into one profile.
  class SessionFolder
    # @return [SessionFolder] a new folder with mode 0700; folders of dead root processes are removed
    def self.create
      base = own_base
      sweep(base)
      new(File.join(base, "session-#{Process.pid}-#{SecureRandom.hex(4)}").tap { |path| Dir.mkdir(path, 0o700) })
    end

    # @return [String] the folder of all sessions of this user
    # @raise [Errno::EPERM] if another user could look into it
    def self.own_base
      parent = ENV["RPERF_PUSH_TMPDIR"] || ENV["TMPDIR"] || ENV["XDG_RUNTIME_DIR"] || Dir.tmpdir
      base = File.join(parent, "rperf-push-#{Process.uid}")
      FileUtils.mkdir_p(base, mode: 0o700)
      stat = File.lstat(base)
      raise Errno::EPERM, base unless stat.directory? && stat.owned? && stat.mode.nobits?(0o077)

      base
    end

    # @param meta [Hash] of the file
    # @return [String] where `--snapshot-dir` puts it
    def self.snapshot_path(directory, meta)
      commit = meta.dig(:git, :sha)&.slice(0, 7) || "nogit"
      File.join(directory, "rperf-push-#{commit}-#{Time.now.strftime("%Y%m%d-%H%M%S")}-#{Process.pid}.json.gz")
    end

    def self.sweep(base)
      Dir.glob("#{base}/session-*").each do |path|
        pid = File.basename(path)[/\Asession-(\d+)-/, 1].to_i
        remove(path) if pid.positive? && !alive?(pid)
      end
    end

    # Under another name first: what still writes finds no folder any more, instead of filling one that is being emptied.
    def self.remove(path)
      FileUtils.rm_rf("#{path}-ended") if File.rename(path, "#{path}-ended")
    rescue SystemCallError
      FileUtils.rm_rf(path)
    end

    def self.alive?(pid)
      Process.kill(0, pid)
      true
    rescue Errno::ESRCH
      false
    rescue Errno::EPERM
      true
    end

    attr_reader :path

    def initialize(path)
      @path = path
    end

    def remove = self.class.remove(path)

    # @return [Array<Hash>] the usage of the processes that reached their end
    def ends
      @ends ||= Dir.glob("#{path}/*.json").map { |file| JSON.parse(File.read(file), symbolize_names: true) }.sort_by { |one| one[:pid] }
    end

    # @return [Array<Integer>] the ids of all processes that wrote a file here
    def pids = Dir.children(path).filter_map { |name| name[/\A(\d+)[-.]/, 1]&.to_i }.uniq.sort

    # @param root [Integer] its samples get no label %pid
    # @param raw [Boolean] with the samples as they came, beside their sums
    # @return [Hash, nil] nil when no process put anything here
    def merged(root:, raw: false)
      merge = Merge.new
      parts = windows(below: "#{Dir.pwd}/")
      parts.each { |pid, part| merge.add(part, process: pid, labels: pid == root ? {} : { "%pid": pid.to_s }) }
      return if parts.empty?

      merge.data(raw:).merge(used)
    end

    # @param below [String] a folder, from which paths are told
    # @return [Array(Integer, Hash)] process and data
    def windows(below: "") = Dir.glob("#{path}/*.pb.gz").map { |file| [File.basename(file).to_i, load(file, below)] }

    private

    # In pprof files C functions have no path, and paths are absolute.
    def load(file, below)
      PProf.decode(Formats.unpacked(Formats.read(file), file)) do |frame|
        frame[0] = frame[0].empty? && !frame[1].start_with?("[", "(") ? "<C method>" : frame[0].delete_prefix(below)
      end
    end

    # The usage of all processes that reached their end.
    def used
      return {} if ends.empty?

      gc = ends.map { |one| one[:gc_stats] }.reduce { |sum, one| sum.merge(one) { |_, a, b| a + b } }
      { trigger_count: sum(:trigger_count), sampling_time_ns: sum(:sampling_time_ns), user_ns: sum(:user_ns), sys_ns: sum(:sys_ns),
        gc_stats: gc, maxrss_mb: ends.map { |one| one[:maxrss_mb] }.max }
    end

    def sum(key) = ends.sum { |one| one[key].to_i }
  end
end
