# frozen_string_literal: true

require_relative "../../data/formats/limit"
require_relative "option"
require_relative "trace_options"

module RperfPush
  module CLI
    # The options of the commands that look into a running process.
    module ControlOptions
      INTERVALS = (0.05..5.0) # seconds
      FREQUENCY = Option.new(short: "f", long: "frequency", argument: "HZ", key: :frequency, default: 99, takes: Integer,
                             text: "samples a second of each thread (default: 99)")
      SERVING = [
        Option.new(long: "port", argument: "PORT", key: :port, takes: Integer,
                   text: "serve the page on PORT (default: any that is free)"),
        Option.new(long: "host", argument: "HOST", key: :host, text: "serve the page on HOST (default: 127.0.0.1)")
      ].freeze
      MAX_BYTES = Option.new(long: "max-bytes", argument: "N", key: :max_bytes, default: Limit::BYTES, takes: Integer,
                             text: "read files of up to N bytes, uncompressed (default: #{Limit::BYTES}, which is 256 MiB)")
      MAX_NODES = Option.new(long: "max-nodes", argument: "N", key: :max_nodes, default: 100_000, takes: Integer,
                             text: "chains of calls that are told apart, to 200000 (default: 100000)")
      # With --trace.
      TRACED = lambda do |keys|
        [*TraceOptions::LIST.select { |option| (keys - [:max_nodes]).include?(option.key) }, MAX_NODES]
      end
      JSON_OUTPUT = Option.new(long: "json", key: :json, text: "as JSON, for programs")

      TABLE = {
        "ps" => [JSON_OUTPUT],
        "stacks" => [JSON_OUTPUT, Option.new(long: "depth", argument: "N", key: :depth, default: 64, takes: Integer,
                                             text: "frames of each stack, from the innermost one (default: 64)")],
        "top" => [
          Option.new(long: "interval", argument: "SECONDS", key: :interval, default: "1",
                     text: "the length of what is shown, 0.05 to 5 (default: 1)"),
          Option.new(long: "value", argument: "NAME", key: :value, default: "cpu",
                     text: "cpu, wall, alloc_objects, alloc_space, inuse_objects, inuse_space, contentions, delay, or what " \
                           "the program counts (default: cpu)"),
          Option.new(long: "by", argument: "KEY", key: :by, text: "the values of a label, such as endpoint, instead of methods"),
          Option.new(long: "filter", argument: "TEXT", key: :filter, text: "only rows with TEXT in them"),
          Option.new(long: "count", argument: "N", key: :count, takes: Integer, text: "end after N windows"),
          Option.new(long: "limit", argument: "N", key: :limit, default: 20, takes: Integer,
                     text: "rows, where there is no terminal (default: 20)"),
          FREQUENCY
        ],
        "live" => [
          Option.new(long: "service", argument: "NAME", key: :service,
                     text: "all processes whose application_name is NAME, also those that come later"),
          Option.new(long: "interval", argument: "SECONDS", key: :interval, default: "0.1",
                     text: "between two updates, 0.05 to 5 (default: 0.1)"),
          FREQUENCY, *SERVING,
          Option.new(long: "trace", key: :trace, text: "every call instead of samples, and the options that follow"),
          *TRACED.call(TraceOptions::LIVE)
        ],
        "attach" => [
          Option.new(short: "o", long: "output", argument: "PATH", key: :output,
                     text: "write the profile to PATH (default: rperf-push.json.gz; with --trace a report is printed)"),
          Option.new(short: "s", long: "seconds", argument: "N", key: :seconds, default: "30",
                     text: "how long; Ctrl-C ends it earlier (default: 30)"),
          Option.new(short: "m", long: "mode", argument: "MODE", key: :mode,
                     text: "cpu, wall, alloc, heap, contention, custom, or several (default: cpu,wall); " \
                           "with --trace: wall, cpu, alloc (default: wall)"),
          FREQUENCY,
          Option.new(long: "engine", argument: "ENGINE", key: :engine, default: "auto", choices: %w[auto signal safepoint],
                     text: "auto, signal or safepoint; where the process is profiled already, its engine is taken"),
          Option.new(long: "format", argument: "FORMAT", key: :format, choices: %w[json pprof collapsed text],
                     text: "json, pprof, collapsed or text (default: what the extension says, or else pprof)"),
          Option.new(long: "no-lines", key: :lines, default: true, text: "without line numbers"),
          Option.new(long: "trace", key: :trace, text: "every call instead of samples, and the options that follow"),
          *TRACED.call(TraceOptions::ATTACHED)
        ]
      }.freeze

      # @return [Float] seconds
      def self.interval(command, text)
        seconds = Float(text, exception: false)
        return seconds if seconds && INTERVALS.cover?(seconds)

        raise Error, "#{command}: interval must be from #{INTERVALS.min} to #{INTERVALS.max} seconds, got #{text}"
      end
    end
  end
end
