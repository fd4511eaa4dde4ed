# frozen_string_literal: true

require_relative "../data/formats/limit"
require_relative "../data/merge"
require_relative "../base/working_folder"

module RperfPush
  # The folder of one `record`. Its processes write their windows (PID-TIME.pb.gz) and, at their end, their resource usage
  # (PID-TIME.json) into it, and this class merges them into one profile.
  class SessionFolder
    NOTHING = { sampling_count: 0, detected_thread_count: 0, unique_frames: 0, unique_stacks: 0 }.freeze

    # @return [SessionFolder] a new folder; those of dead root processes are removed
    def self.create = planned.tap(&:make)

    # @return [SessionFolder] one that is to be made
    def self.planned
      base = own_base
      sweep(base)
      new(File.join(base, Native.session_name))
    end

    # @return [String] the folder of all sessions of this user
    # @raise [Errno::EPERM] if another user could look into it
    def self.own_base
      parent = %w[RPERF_PUSH_TMPDIR TMPDIR XDG_RUNTIME_DIR].filter_map { |name| ENV.fetch(name, nil) }.find { |path| !path.empty? }
      base = File.join(File.expand_path(parent || "/tmp"), "rperf-push-#{Process.uid}")
      make_all(base)
      stat = File.lstat(base)
      raise Errno::EPERM, base unless stat.directory? && stat.owned? && stat.mode.nobits?(0o077)

      base
    end

    # @param meta [Hash] of the file
    # @return [String] where `--snapshot-dir` puts it
    def self.snapshot_path(directory, meta)
      commit = meta.dig(:git, :sha)&.slice(0, 7) || "nogit"
      name = File.join(directory, "rperf-push-#{commit}-#{Time.now.strftime("%Y%m%d-%H%M%S")}-#{Process.pid}")
      number = (2..).find { |next_one| !File.exist?("#{name}-#{next_one}.json.gz") } if File.exist?("#{name}.json.gz")
      "#{[name, number].compact.join("-")}.json.gz"
    end

    def self.sweep(base) = Dir.glob("#{base}/session-*").each { |path| remove(path) if Native.left_over?(path) }

    # With the folders above it.
    def self.make_all(path)
      make_all(File.dirname(path)) unless File.exist?(File.dirname(path))
      Dir.mkdir(path, 0o700)
    rescue Errno::EEXIST
      nil
    end

    # Under another name first: what still writes finds no folder any more, instead of filling one that is being emptied. What cannot
    # be removed is left to the next sweep.
    def self.remove(path)
      ended = "#{path}-ended"
      return unless File.basename(path).start_with?("session-")

      File.rename(path, ended) if Dir.exist?(path)
      Dir.children(ended).each { |name| File.delete("#{ended}/#{name}") }
      Dir.rmdir(ended)
    rescue SystemCallError
      nil
    end

    # What this user's own processes wrote is read, however much it is.
    OWN = Limit.new(2**40)
    private_constant :OWN

    attr_reader :path

    def initialize(path)
      @path = path
    end

    def make = Dir.mkdir(path, 0o700)

    def remove = self.class.remove(path)

    # @return [Array<Hash>] the usage of the programs that reached their end; a process that calls exec runs several
    def ends
      require "json"
      @ends ||= Dir.glob("#{path}/*.json").map { |file| JSON.parse(File.binread(file).force_encoding(Encoding::UTF_8), symbolize_names: true) }.sort_by { |one| one[:pid] }
    end

    # @return [Array<Integer>] the ids of all processes that wrote a file here, or a part of one
    def pids = Dir.children(path).filter_map { |name| name[/\A\.?(\d+)[-.]/, 1]&.to_i }.uniq.sort

    # @param root [Integer] its samples get no label %pid
    # @param raw [Boolean] with the samples as they came, beside their sums
    # @return [Hash, nil] nil when no process put anything here
    def merged(root:, raw: false)
      parts = windows(below: WorkingFolder.prefix)
      sums = parts.empty? ? empty : merge(parts, root).data(raw:)
      sums&.merge(process_count: pids.size, pid: root, **ends.find { |one| one[:pid] == root }.to_h.slice(:ppid), **used)
    end

    # @param below [String] a folder, from which paths are told
    # @return [Array(Integer, Hash)] process and data
    def windows(below: "") = Dir.glob("#{path}/*.pb.gz").map { |file| [File.basename(file).to_i, load(file, below)] }

    private

    def merge(parts, root)
      parts.each_with_object(Merge.new) do |(pid, part), merge|
        merge.add(part, process: pid, labels: pid == root ? {} : { "%pid": pid.to_s })
      end
    end

    # @return [Hash, nil] a profile of programs in which nothing came to be sampled; nil: none was recorded, or only what programs count
    def empty
      shape = ends.filter_map { |one| one[:shape] }.find { |one| one[:mode] != ["custom"] } or return
      modes = shape[:mode].map(&:to_sym)
      { **NOTHING, **shape, mode: modes.size > 1 ? modes : modes.first, aggregated_samples: [], label_sets: [{}] }
    end

    # In pprof files paths are absolute.
    def load(file, below)
      PProf.decode(Formats.unpacked(Formats.read(file, OWN), file, OWN)) { |frame| frame[0] = frame[0].delete_prefix(below) }
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
