# frozen_string_literal: true

require "rbconfig"
require "rperf_push"
require_relative "../sessions/session_folder"
require_relative "../injection"
require_relative "command"
require_relative "errors"
require_relative "options/session_options"

module RperfPush
  module CLI
    # Runs one command under the profiler. It starts the command in an environment that makes its Ruby programs record themselves,
    # waits for it, and merges the recordings. Standard input and output belong to the command alone.
    class Recording
      NOT_EXECUTABLE = 126
      NOT_FOUND = 127

      Result = Struct.new(:data, :status, :real_ns, :folder, :root, :ends, :process_count, :user_ns, :sys_ns)

      # @param options [Hash] as {Options.parse} returns it
      # @param also [Array<String>] modes beside those of the options
      def initialize(name, options, also: [])
        @name = name
        @options = options
        @modes = SessionOptions.modes(name, options[:mode]) | also
        SessionOptions.frequency(name, options[:frequency])
        SessionOptions.alloc_interval(name, options[:alloc_interval])
        @engine = options[:signal].nil? ? options[:engine] : engine_of(options[:signal])
      end

      # @return [Result] its data is nil if no Ruby program ran
      def run(command)
        folder = folder_of_session
        began = now
        times = Process.times
        pid = spawn(folder, with_ruby(command))
        status = Command.wait(pid)
        result(folder, pid, status, now - began, used_since(times))
      rescue FormatError, ArgumentError => e
        raise Error, "#{@name}: #{e.message}"
      ensure
        folder&.remove
      end

      # In which Ruby programs record themselves.
      #
      # @param variables [Hash{String => #to_s}] where to
      # @return [Hash{String => String}]
      def environment(variables)
        injected = Injection.environment(Injection::Offer::SESSION_FEATURE)
        given = %i[frequency lines aggregate alloc_interval class_labels].to_h { |name| [name, @options[name]] }
        options = StartOptions.in_text({ mode: @modes, engine: @engine, **given })
        all = { **variables, "OPTIONS" => options, "INHERIT" => @options[:inherit] ? 1 : 0, "PATHS" => Injection.paths(injected) }
        all.to_h { |name, value| ["RPERF_PUSH_SESSION_#{name}", value.to_s] }.merge(injected)
      end

      private

      def folder_of_session
        SessionFolder.create
      rescue SystemCallError => e
        raise Error, "#{@name}: the session's folder #{e.message[/ - (.*)/, 1]}: #{CLI.reason(e)}"
      end

      def result(folder, pid, status, real_ns, used_ns)
        data = folder.merged(root: pid, raw: !@options[:aggregate])
        Result.new(data, Command.exit_status(status), real_ns, folder, pid, folder.ends, folder.pids.size, *used_ns)
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

      # CPU time of the command and of its children that were waited for, as `time` counts it.
      def used_since(before)
        %i[cutime cstime].map { |key| ((Process.times[key] - before[key]) * 1_000_000_000).round }
      end

      # @param signal [String] "false" or a number, as in rperf
      def engine_of(signal)
        return "safepoint" if signal == "false"
        raise Error, "#{@name}: signal must be false or a number, got #{signal}" unless signal.match?(/\A\d+\z/)

        Printer.err "rperf-push: the signal is SIGURG, whatever number is asked for" if signal.to_i != Signal.list["URG"]
        "signal"
      end

      # `record script.rb` means Ruby.
      def with_ruby(command)
        script = command.first
        script.end_with?(".rb") && File.file?(script) && !File.executable?(script) ? [RbConfig.ruby, *command] : command
      end

      def spawn(folder, command)
        $stdout.flush
        Process.spawn(environment("DIR" => folder.path, "PARENT" => Process.pid), [command.first, command.first], *command.drop(1))
      rescue Errno::ENOENT
        raise NotStarted.new(NOT_FOUND, "#{@name}: #{command.first}: command not found")
      rescue SystemCallError => e
        raise NotStarted.new(NOT_EXECUTABLE, "#{@name}: #{command.first}: #{CLI.reason(e)}")
      end
    end
  end
end
