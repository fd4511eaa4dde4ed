# frozen_string_literal: true

require "rbconfig"
require "tempfile"

# Runs Ruby in a process of its own: the Ruby under test with the gem on its load path. The environment is kept, so a run with
# YJIT has children with YJIT.
module RubyProgram
  LIB = File.expand_path("../../../lib", __dir__)

  # The environment of a program that needs no gem: to load the bundle takes longer than most of them run.
  WITHOUT_GEMS = { "RUBYOPT" => ENV.fetch("RUBYOPT", "").split.grep_v(/bundler/).join(" "), "BUNDLER_SETUP" => nil }.freeze

  # A program that did not end in time; its output so far is in the message.
  class TimedOut < StandardError; end

  # @param code [String] run with the gem required
  # @param env [Hash{String => String, nil}]
  # @param timeout [Numeric] seconds until the process is killed and the example fails
  # @param require_gem [Boolean] whether it begins with rperf_push
  # @param gems [Boolean] whether it needs others
  # @param arguments [Array<String>] of the interpreter, before the code
  # @return [Array(String, String, Process::Status)] stdout, stderr, status
  def run_ruby(code, env: {}, timeout: 180, require_gem: true, gems: false, arguments: [], stdin: "")
    command = [RbConfig.ruby, "-I", LIB, *(require_gem ? %w[-r rperf_push] : []), *arguments, "-e", code]
    run_program(command, env: { **(gems ? {} : WITHOUT_GEMS), **env }, timeout:, stdin:)
  end

  # @return [Array(String, String, Process::Status)] stdout, stderr, status
  def run_program(command, env: {}, timeout: 180, stdin: "", chdir: Dir.pwd)
    files = Array.new(3) { Tempfile.new("program") }
    files.first.tap { |input| input.write(stdin) }.rewind
    pid = Process.spawn(env, *command, in: files[0], out: files[1], err: files[2], chdir:, pgroup: true)
    status = wait_for(pid, timeout)
    out, err = files.last(2).map { |file| File.read(file.path, encoding: Encoding::UTF_8) }
    raise TimedOut, "#{command.inspect} took more than #{timeout} s\n#{out}\n#{err}" unless status

    [out, err, status]
  ensure
    files&.each(&:close!)
  end

  private

  # Without a look every now and then, which would cost what the programs beside it measure.
  #
  # @return [Process::Status, nil] nil if it had to be killed
  def wait_for(pid, timeout)
    waiter = Process.detach(pid)
    return waiter.value if waiter.join(timeout)

    Process.kill(:KILL, -pid) # and what it started
    waiter.join
    nil
  end
end
