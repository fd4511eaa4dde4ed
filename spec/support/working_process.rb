# frozen_string_literal: true

require "English"
require "json"
require "rbconfig"
require "tempfile"
require_relative "helpers/ruby_program"

# An application in a process of its own that works all the time and does between two requests what it is told: so its
# profiler can be watched from outside while the backend misbehaves.
#
#   app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => fake_server.url)
#   app.run("RperfPush.flush(timeout: 1)")   # => false
#   app.stats["payloads_delivered"]
#   app.slowest_request                      # seconds, since the last time it was asked
#   app.stop
class WorkingProcess
  PROGRAM = File.expand_path("working_process/program.rb", __dir__)

  attr_reader :pid

  # @param env [Hash{String => String}] the profiler's settings
  def initialize(env = {})
    @log = Tempfile.new("working-process")
    @pipe = IO.popen([{ **RubyProgram::WITHOUT_GEMS, **env }, RbConfig.ruby, "-I", RubyProgram::LIB, PROGRAM, { err: @log.path }], "r+")
    @pid = @pipe.pid
    raise "it did not start:\n#{log}" unless @pipe.gets == "ready\n"
  end

  # @param code [String] Ruby
  # @return [Object] its value, as JSON has it
  def run(code)
    @pipe.puts(JSON.generate(code))
    answer = @pipe.gets or raise "it ended:\n#{log}"
    value, error = JSON.parse(answer)
    raise error if error

    value
  end

  # Replaces its configuration.
  #
  # @param settings [Hash{Symbol => Object}] options; those that are left out are the environment's
  def configure(**settings)
    run("RperfPush.configure! { |config| #{settings.map { |option, value| "config.#{option} = #{value.inspect}" }.join("; ")} }")
  end

  # @param timeout [Numeric] seconds
  # @return [Boolean]
  def flush(timeout = 20) = run("RperfPush.flush(timeout: #{timeout})")

  # @return [Integer] the most memory that it ever took, in MiB
  def most_memory = File.read("/proc/#{pid}/status")[/^VmHWM:\s+(\d+)/, 1].to_i / 1024

  # So that what is read from now on stands still.
  #
  # @return [Hash{String => Object}] the last RperfPush.stats
  def end_profiling = run("RperfPush.shutdown; RperfPush.stats")

  # @return [Hash{String => Object}] RperfPush.stats
  def stats = run("RperfPush.stats")

  # @return [Float] seconds
  def slowest_request = run("$slowest.tap { $slowest = 0 }")

  # Lets the program end by itself.
  #
  # @return [Float] seconds that it took
  def stop
    return 0.0 if @pipe.closed?

    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    @pipe.close
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
  end

  # @return [String] what it said on standard error
  def log = File.read(@log.path)

  def kill
    Process.kill(:KILL, pid) unless @pipe.closed?
    @pipe.close unless @pipe.closed?
  end
end

# Processes that end with their example.
RSpec.shared_context "with working processes" do
  # @param settings [Hash{String => String}] by the options' names in the environment, without the prefix
  def working_process(settings)
    @working_processes << WorkingProcess.new(settings.transform_keys { |name| "RPERF_PUSH_#{name}" })
    @working_processes.last
  end

  before { @working_processes = [] }
  after { @working_processes.each(&:kill) }
end
