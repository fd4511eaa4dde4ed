# frozen_string_literal: true

require_relative "../../remote/remote_session"
require_relative "../attach_trace"
require_relative "../options"
require_relative "../processes"
require_relative "../output_file"
require_relative "../options/session_options"

module RperfPush
  module CLI
    module Commands
      # rperf-push attach: a session on demand in a running process.
      class Attach
        MODE = "cpu,wall"

        def help = "usage: rperf-push attach [OPTIONS] PID\n#{Options.help("attach")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, rest = Options.parse("attach", arguments)
          seconds = seconds_of(@options[:seconds])
          return AttachTrace.new(@options).run(rest, seconds) if @options[:trace]

          TraceRequest.refuse_stray("attach", @options, TraceOptions::ATTACHED)
          @request = request
          client = Processes.named("attach", rest)
          @pid = client.pid
          @output = @options[:output] || OutputFile::DEFAULT
          OutputFile.check("attach", @output)
          finish(Processes.told("attach") { record(client, seconds) })
        end

        private

        def seconds_of(text)
          seconds = Float(text, exception: false)
          return seconds if seconds&.positive? && seconds.finite?

          raise Error, "attach: seconds must be a number above 0, got #{text}"
        end

        # Ctrl-C ends it early: what was recorded until then is kept. So it is when the process ends.
        #
        # @return [Hash, nil] nil: no window had anything in it
        def record(client, seconds)
          @merge = Merge.new
          @windows = 0
          before = trap("INT") { @interrupted = true }
          client.connect("record", **@request) { |stream| take_windows(stream, seconds) }
          @merge.data if @windows.positive?
        rescue ControlClient::Refused => e
          raise if @windows.zero?

          Printer.err "rperf-push: attach: #{e.message}: this is what it recorded until then"
          @merge.data
        ensure
          trap("INT", before || "DEFAULT")
        end

        def request
          frequency = SessionOptions.frequency("attach", @options[:frequency])
          mode = SessionOptions.modes("attach", @options[:mode] || MODE).join(",")
          { frequency:, mode:, engine: @options[:engine], lines: @options[:lines] ? 1 : 0, precision: 1 }
        end

        def take_windows(stream, seconds)
          RemoteSession.new(stream).each(seconds:) do |window|
            @windows += 1 if window && @merge.add(window, process: 0)
            :stop if @interrupted
          end
        end

        def finish(data)
          if data.nil?
            Printer.err "rperf-push: attach: no thread ran or ended a wait in that time: nothing was recorded"
            return 1
          end
          OutputFile.save("attach", @output, data.merge(pid: @pid, meta: { attached_to: @pid }), @options[:format])
          Printer.err "rperf-push: wrote #{@output}"
          0
        end
      end
    end
  end
end
