# frozen_string_literal: true

require "io/console"
require "rperf_push"
require_relative "../remote/control_client"
require_relative "processes"
require_relative "trace_file"
require_relative "trace_request"

module RperfPush
  module CLI
    # rperf-push attach --trace: every call of a running process.
    class AttachTrace
      TURN = 0.1 # seconds, between two looks at the clock
      BEGIN_WAIT = 30 # seconds: until the process comes to a safepoint
      RESULT_WAIT = 30 # seconds: until the tree has come

      def initialize(options)
        @options = options
        raise Error, "attach: --format needs -o PATH with --trace" if options[:format] && !options[:output]

        mode = options[:mode] || "wall"
        @modes = CallTrace.new(mode: CallTrace.modes_in(mode)).modes
        @request = { **TraceRequest.of("attach", options), mode: }
      rescue ArgumentError => e
        raise Error, "attach: --trace: #{e.message}"
      end

      # @return [Integer] the exit status
      def run(arguments, seconds)
        @client = client = Processes.named("attach", arguments)
        output = @options[:output]
        OutputFile.check("attach", output) if output
        tree = Processes.told("attach") { client.connect("trace", **@request) { |stream| take(stream, seconds) } }
        if output then write(output, tree)
        else Printer.out tree.report(@options[:report] || :flat, limit: @options[:limit])
        end
        0
      end

      private

      def write(output, tree)
        TraceFile.write("attach", output, { **CallData.of(tree, @modes), meta: { attached_to: @client.pid } },
                        report: @options[:report], limit: @options[:limit], format: @options[:format])
        Printer.err "rperf-push: wrote #{output}"
      end

      # Ctrl-C ends it early.
      #
      # @return [CallTree]
      def take(stream, seconds)
        before = trap("INT") { @interrupted = true }
        document(stream, BEGIN_WAIT, "the process came to no safepoint within #{BEGIN_WAIT} s: see rperf-push stacks")
        with_keys { trace_for(seconds) }
        stream.finish
        tree = document(stream, RESULT_WAIT, "the process gave no tree within #{RESULT_WAIT} s")
        tree_of(tree)
      ensure
        trap("INT", before || "DEFAULT")
      end

      # What is no tree shows in its building.
      def tree_of(document)
        CallTree.from_h(document.to_h { |part, values| [part.to_sym, values.transform_keys(&:to_sym)] })
      rescue NoMethodError, TypeError, ArgumentError, RangeError
        raise ControlClient::Refused, "what the process sent is no tree of calls"
      end

      # Pauses do not count.
      def trace_for(seconds)
        until @interrupted || seconds <= 0
          began = clock
          turn([seconds, TURN].min)
          seconds -= clock - began unless @paused
        end
      end

      def turn(seconds)
        return sleep(seconds) unless $stdin.tty?

        toggle if $stdin.wait_readable(seconds) && $stdin.getc == "p"
      end

      def toggle
        @client.ask(@paused ? "resume" : "pause")
        @paused = !@paused
        $stderr.print "rperf-push: #{@paused ? "paused: p goes on" : "goes on"}\r\n"
      end

      # Keys come one by one, and the terminal is left as it was, however this ends.
      def with_keys(&)
        return yield unless $stdin.tty?

        Printer.err "rperf-push: p pauses and goes on, Ctrl-C ends"
        $stdin.raw(intr: true, &)
      end

      def document(stream, max_wait, otherwise)
        deadline = clock + max_wait
        loop do
          kind, message = stream.read(timeout: TURN)
          return message if kind == :document
          raise ControlClient::Refused, otherwise if clock > deadline
        end
      end

      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
