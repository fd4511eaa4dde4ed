# frozen_string_literal: true

require "rbconfig"
require "tmpdir"
require "rperf_push"
require_relative "../../injection"
require_relative "../command"
require_relative "../errors"
require_relative "../options"
require_relative "../output_file"
require_relative "../trace_file"

module RperfPush
  module CLI
    module Commands
      # rperf-push trace: runs a program, counts every call of it, and prints a report or writes a file.
      class Trace
        def help = "usage: rperf-push trace [OPTIONS] [--] SCRIPT.rb [ARGUMENT...] | COMMAND [ARGUMENT...]\n#{Options.help("trace")}"

        # @return [Integer] the exit status: the program's
        def run(arguments)
          @options, command = Options.parse("trace", arguments, order: true)
          raise Error, "trace needs a program" if command.empty?

          CallTrace.new(**trace_options)
          OutputFile.check("trace", @options[:output]) if @options[:output]
          Dir.mktmpdir("rperf-push-calls-") { |folder| finish(*traced(command, "#{folder}/calls.json")) }
        rescue ArgumentError => e
          raise Error, "trace: #{e.message}"
        end

        private

        def trace_options
          { mode: CallTrace.modes_in(@options[:mode]), only: @options[:only], except: @options[:except],
            c_methods: @options[:c_methods], blocks: @options[:blocks] || false, max_nodes: @options[:max_nodes] }
        end

        # @return [Array(Process::Status, Hash, String)] the data is nil if no Ruby program ran
        def traced(command, path)
          $stdout.flush
          program, *rest = with_ruby(command)
          status = Command.wait(Process.spawn(environment(path), [program, program], *rest))
          [status, (RperfPush.load(path) if File.exist?(path)), command.first]
        rescue SystemCallError => e
          raise NotStarted.new(e.is_a?(Errno::ENOENT) ? 127 : 126, "trace: #{command.first}: #{CLI.reason(e)}")
        end

        def environment(path)
          given = Injection.environment("rperf_push/call_session")
          order = { path:, given:, before: given.to_h { |name, _| [name, ENV.fetch(name, nil)] }, options: trace_options }
          given.merge("RPERF_PUSH_CALLS" => [Marshal.dump(order)].pack("m0"))
        end

        def with_ruby(command)
          script = command.first
          File.file?(script) && !File.executable?(script) ? [RbConfig.ruby, *command] : command
        end

        def finish(status, data, name)
          if data.nil? then Printer.err "rperf-push: #{name}: no Ruby program ran, nothing was traced"
          elsif @options[:output] then TraceFile.write("trace", @options[:output], data, report: @options[:report], limit: @options[:limit])
          else Printer.out data[:tree].report(@options[:report] || :flat, limit: @options[:limit])
          end
          Command.exit_status(status)
        end
      end
    end
  end
end
