# frozen_string_literal: true

require_relative "../advice"
require_relative "../upload"

module RperfPush
  module CLI
    module Commands
      # rperf-push check: sends one tiny profile on the same way as all others.
      class Check
        WHERE = {
          "pyroscope" => "In Pyroscope or Grafana: service_name=%p, process_cpu, the last 5 minutes; the one frame is " \
                         "\"rperf-push check\".",
          "pyroscope_ingest" => "In Pyroscope: the application %p, the last 5 minutes; the one frame is \"rperf-push check\".",
          "parca" => "In Parca: process_cpu, service_name=%p, the last 5 minutes; the one frame is \"rperf-push check\"."
        }.freeze

        def initialize
          @settings = Settings.new
          @parser = OptionParser.new("usage: rperf-push check [OPTIONS]") { |parser| @settings.declare(parser) }
        end

        def help = @parser.help

        # @return [Integer] the exit status
        def run(arguments)
          rest = CLI.parsing("check") { @parser.parse(arguments) }
          raise Error, "check takes no argument, got #{rest.first.inspect}" if rest.any?

          Environment.new(ENV).misspelt.each { |line| Printer.err line }
          result = try
          Printer.out "#{result[:backend]} at #{result[:target]}, application_name #{result[:application_name]}"
          result[:verdict] == :delivered ? succeed(result) : fail_with(result)
        end

        private

        def try
          upload = Upload.new(@settings)
          now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
          upload.deliver(upload.tiny_profile, time_ns: now - 1_000_000_000, duration_ns: 1_000_000_000, samples: 1)
        end

        def succeed(result)
          Printer.out format("ok: delivered in %.0f ms", result[:seconds] * 1000)
          where = WHERE[result[:backend]]
          Printer.out format(where, result[:application_name]) if where
          0
        end

        def fail_with(result)
          $stdout.flush
          verb = result[:verdict] == :unconfirmed ? "not confirmed" : "failed"
          Printer.err "#{verb}: #{result[:message]}"
          advice = Advice.new(result, @settings).text
          Printer.err advice if advice
          1
        end
      end
    end
  end
end
