# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "burner"
require_relative "pprof_profile"
require_relative "helpers/ruby_program"

# A Ruby program in a process of its own with the profiler on, and afterwards both accounts of it: every window's profile,
# and the truth that the program measured itself.
#
#   program = ProfiledProgram.run(<<~RUBY, folder: tmpdir, engine: "signal")
#     Truth.profile { Truth.spend(:sort) { sort } }
#   RUBY
#   program.cpu { |sample| sample.leaf == "Array#sort" }    # nanoseconds in all windows
#   program.truth["sort"]
class ProfiledProgram
  LIB = RubyProgram::LIB
  PRELUDE = File.expand_path("profiled_program/prelude.rb", __dir__)
  # Without a budget: on a slow machine it would make ticks fewer, and what is to be seen could be missed.
  DEFAULTS = { backend: "directory", application_name: "program", upload_interval: 1, frequency: 99, engine: "signal",
               overhead_limit: 1 }.freeze

  # One row of one window's profile.
  Sample = Struct.new(:window, :frames, :cpu, :wall, :labels, :thread) do
    def names = frames.map(&:name)
    def leaf = frames.first.name
    def root = frames.last.name
    def in?(name) = frames.any? { |frame| frame.name == name }
    # :running, or what else the thread was doing
    def state = { "blocked" => :blocked, "wait" => :waiting }[labels["gvl_state"]] || gc_state || :running
    def gc_state = { "mark" => :marking, "sweep" => :sweeping }[labels["gc_phase"]]
  end

  extend RubyProgram

  # @param program [String] its source; it calls Truth.profile
  # @param folder [String] for its files
  # @param arguments [Array<String>] of the interpreter
  # @param options [Hash] of RperfPush.configure
  # @return [ProfiledProgram]
  def self.run(program, folder:, arguments: [], env: {}, timeout: 180, prefix: [], **options)
    run_folder = Dir.mktmpdir("run-", folder)
    script, truth, profiles = %w[program.rb truth.json profiles].map { |name| File.join(run_folder, name) }
    File.write(script, program)
    Dir.mkdir(profiles)
    options = DEFAULTS.merge(directory: profiles, **options)
    command = [*prefix, RbConfig.ruby, *arguments, "-I", LIB, "-I", BurnerExtension.load_path, "-r", PRELUDE, script]
    env = { "TRUTH_FILE" => truth, "PROFILE_OPTIONS" => JSON.generate(options), **env }
    _, log, status = run_program(command, env:, timeout:)
    new(File.exist?(truth) ? JSON.parse(File.read(truth)) : {}, Dir[File.join(profiles, "*.pb.gz")], log, status)
  end

  attr_reader :truth, :windows, :samples, :log, :status

  def initialize(truth, files, log, status)
    @truth = truth
    @log = log
    @status = status
    @windows = files.map { |file| PprofProfile.read(file) }.sort_by(&:time_nanos)
    @samples = @windows.flat_map { |window| samples_of(window) }
  end

  # @return [Integer] nanoseconds of the samples that the block wants
  def cpu(&wanted) = pick(&wanted).sum(&:cpu)
  def wall(&wanted) = pick(&wanted).sum(&:wall)

  # @return [Array<Sample>] what one window holds
  def in_window(window) = samples.select { |sample| sample.window.equal?(window) }

  # The number of the thread that spent the most time under these labels: those it creates have them, too.
  def thread_with(labels)
    under_labels = samples.select { |sample| sample.labels >= labels }
    under_labels.group_by(&:thread).max_by { |_, group| group.sum(&:wall) }.first
  end

  # @return [Integer] all wall time of the threads that have such a sample, in nanoseconds
  def wall_of_threads(&wanted)
    threads = samples.select(&wanted).map(&:thread).uniq
    wall { |sample| threads.include?(sample.thread) }
  end

  # @return [Array<Float>] how much of each of these windows each of these threads has
  def shares_of_windows(threads, windows)
    threads.product(windows).map do |thread, window|
      in_window(window).select { |sample| sample.thread == thread }.sum(&:wall).fdiv(window.duration_nanos)
    end
  end

  # @return [Hash{Object => Float}] shares of all CPU time, by what the block says of a sample
  def cpu_shares(&)
    total = samples.sum(&:cpu).to_f
    samples.group_by(&).transform_values { |group| group.sum(&:cpu) / total }
  end

  private

  def pick(&wanted) = wanted ? samples.select(&wanted) : samples

  def samples_of(window)
    cpu, wall = %w[cpu wall].map { |type| window.sample_types.index { |name, _| name == type } }
    window.samples.map do |sample|
      Sample.new(window, sample.stack, sample.values[cpu], sample.values[wall], sample.labels, sample.numbers["thread_seq"]&.first)
    end
  end
end
