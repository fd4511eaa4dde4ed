# frozen_string_literal: true

require "rbconfig"
require_relative "ruby_program"

# Runs `rperf-push` as a user does, in an environment that says nothing of profiling but what the example says.
module CommandLine
  EXECUTABLE = File.expand_path("../../../exe/rperf-push", __dir__)
  SILENT = /\A(?:RPERF_PUSH|PYROSCOPE|OTEL)_|_proxy\z/i

  # What `run` says first.
  START_OF_RUN = /\Arperf-push: run: profiles of .+ go to .+ at .+: \d+ Hz, every \d+ s\n/

  Ended = Struct.new(:out, :err, :status) do
    def all = out + err
  end

  # @return [Ended] `status` is the exit status
  def rperf_push(*arguments, env: {}, timeout: 180, stdin: "")
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, EXECUTABLE, *arguments],
                                   env: CommandLine.silence.merge(env), timeout:, stdin:)
    Ended.new(out, err, status.exitstatus)
  end

  # A command that serves the page, until the block has ended.
  #
  # @yieldparam url [String] what the command prints first
  def serving(*arguments, env: {})
    read, write = IO.pipe
    pid = Process.spawn(CommandLine.silence.merge(env), RbConfig.ruby, "-I", RubyProgram::LIB, EXECUTABLE, *arguments, out: write, err: write)
    write.close
    yield read.gets.to_s[%r{\Ahttp://\S+/}]
  ensure
    Process.kill(:INT, pid)
    Process.wait(pid)
    read.close
  end

  def self.silence = { **ENV.keys.grep(SILENT).to_h { |name| [name, nil] }, **RubyProgram::WITHOUT_GEMS }
end
