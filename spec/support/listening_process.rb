# frozen_string_literal: true

require "English"
require "rbconfig"
require "tempfile"
require_relative "helpers/ruby_program"

# For examples that attach to a process.
module Attaching
  # Waits until nobody is attached: only then the process takes another one.
  def wait_for_another_session(client)
    wait_until("another session") do
      client.connect("record") { |stream| stream.read.first == :document }
    rescue RperfPush::ControlClient::Refused
      nil
    end
  end
end

# A program that listens on a control socket in a folder of the example's, and says when it has come to where it is to be looked at.
#
#   program = ListeningProcess.new("#{tmpdir}/sockets", 'puts "ready"; sleep')
#   program.stop
class ListeningProcess
  PROFILED = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_OVERHEAD_LIMIT" => "1" }.freeze

  attr_reader :pid, :env

  # @param sockets [String] a folder
  # @param code [String] writes the line "ready" when it is
  # @param profiles [String, nil] where its continuous session writes; nil: it only loads rperf_push/control
  def initialize(sockets, code, profiles: nil, env: {})
    @env = { "RPERF_PUSH_CONTROL_SOCKET" => sockets }
    settings = profiles ? PROFILED.merge("RPERF_PUSH_DIRECTORY" => profiles) : {}
    prelude = profiles ? 'require "rperf_push"; RperfPush.configure!' : 'require "rperf_push/control"'
    @log = Tempfile.new("listening-process")
    @file = Tempfile.new(["program", ".rb"])
    @file.write("#{prelude}\n$stdout.sync = true\n#{code}")
    @file.close
    @pipe = IO.popen([{ **RubyProgram::WITHOUT_GEMS, **@env, **settings, **env }, RbConfig.ruby, "-I", RubyProgram::LIB, @file.path, { err: @log.path }], "r+")
    @pid = @pipe.pid
    raise "it did not start:\n#{log}" unless @pipe.gets == "ready\n"
  end

  # @return [String] the next line that it writes
  def line = @pipe.gets&.chomp

  def say(text) = @pipe.puts(text)

  # @return [String] what it said on standard error
  def log = File.read(@log.path)

  def stop(signal = :KILL)
    return if @pipe.closed?

    Process.kill(signal, pid)
    @pipe.close
    $CHILD_STATUS
  rescue Errno::ESRCH
    @pipe.close
  end
end
