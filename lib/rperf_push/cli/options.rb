# frozen_string_literal: true

require "optparse"
require_relative "options/control_options"
require_relative "options/option"
require_relative "options/trace_options"

module RperfPush
  module CLI
    # The options of the commands that record and read profiles: one table, of which the parser, `help`, the man page and the
    # shells' completions are made.
    module Options
      FORMATS = %w[json pprof collapsed text].freeze
      # Any of these asks for text, where else the page would open.
      TEXTS = %i[top text collapsed method dot format by_label value output synthetic_frames].freeze
      COUNTS = %i[limit depth].freeze # rows, or frames
      COUNTED = (1..1_000_000_000) # Array#first takes no number above 64 bits
      OUTPUT = Option.new(short: "o", long: "output", argument: "PATH", key: :output, text: "write the profile to PATH")
      COMMON = [
        Option.new(short: "f", long: "frequency", argument: "HZ", key: :frequency, default: 1000, takes: Integer,
                   text: "samples a second of each thread (default: 1000; with engine signal at most the kernel's ticks)"),
        Option.new(long: "engine", argument: "ENGINE", key: :engine, default: "auto", choices: %w[auto signal safepoint],
                   text: "auto, signal or safepoint"),
        Option.new(long: "signal", argument: "VALUE", key: :signal,
                   text: "rperf's option: false is engine safepoint, a number engine signal"),
        Option.new(long: "label", argument: "KEY=VALUE", key: :label, takes: Array,
                   text: "a label of the whole run, into the file's meta (repeatable)"),
        Option.new(long: "alloc-interval", argument: "N", key: :alloc_interval, takes: Integer,
                   text: "with mode alloc or heap: capture each N-th allocation (default: some, at random)"),
        Option.new(long: "class-labels", key: :class_labels, text: "with mode alloc: classes as the label `class` instead of frames"),
        Option.new(long: "no-lines", key: :lines, default: true, text: "without line numbers"),
        Option.new(long: "no-inherit", key: :inherit, default: true, text: "leave the children of the command alone"),
        Option.new(long: "no-aggregate", key: :aggregate, default: true,
                   text: "every sample as it came as well, under raw_samples of a JSON file"),
        Option.new(short: "v", long: "verbose", key: :verbose, text: "say what was sampled, and the top functions")
      ].freeze
      READING = [
        Option.new(long: "top", key: :top, text: "functions by their own and by cumulative time"),
        Option.new(long: "text", key: :text, text: "a header, then the same, with two standard errors (the default without a browser)"),
        Option.new(long: "collapsed", key: :collapsed, text: "collapsed stacks, for flamegraph.pl and speedscope"),
        Option.new(long: "method", argument: "NAME", key: :method, text: "callers, callees and lines of the methods with that name"),
        Option.new(long: "dot", key: :dot, text: "the call graph for Graphviz"),
        Option.new(long: "html", key: :html, text: "the page with the profiles in it, as one file"),
        Option.new(long: "format", argument: "FORMAT", key: :format, choices: %w[table table-json],
                   text: "for machines: table (tabs between columns) or table-json"),
        Option.new(long: "by-label", argument: "KEY", key: :by_label, text: "the time of each value of a label: %GVL, thread_seq, ..."),
        Option.new(long: "value", argument: "NAME", key: :value, text: "which of the profile's values to show, such as cpu or wall"),
        Option.new(long: "limit", argument: "N", key: :limit, default: 50, takes: Integer, text: "rows of each table (default: 50)"),
        Option.new(short: "o", long: "output", argument: "PATH", key: :output, text: "write to PATH instead of standard output"),
        Option.new(long: "synthetic-frames", key: :synthetic_frames,
                   text: "states as frames: [GVL blocked], [GVL wait], [GC marking], [GC sweeping]"),
        ControlOptions::MAX_BYTES, *ControlOptions::SERVING
      ].freeze

      MODE = lambda do |default|
        Option.new(short: "m", long: "mode", argument: "MODE", key: :mode, default:,
                   text: "cpu, wall, alloc, heap, contention, custom, or several as cpu,wall (default: #{default})")
      end
      STAT = [OUTPUT, MODE.call("wall"), *COMMON].freeze

      TABLE = {
        "record" => [
          OUTPUT.dup.tap { |option| option.text = "write the profile to PATH (default: rperf-push.json.gz)" }, MODE.call("cpu"),
          Option.new(long: "format", argument: "FORMAT", key: :format, choices: FORMATS,
                     text: "json, pprof, collapsed or text (default: what the extension says, or else pprof)"),
          Option.new(short: "p", long: "print", key: :print, text: "print the text report instead of writing a file"),
          Option.new(long: "snapshot-dir", argument: "DIR", key: :snapshot_dir, text: "write to DIR, under a name of commit and time"),
          Option.new(long: "print-env", key: :print_env,
                     text: "print what a shell has to export for its next Ruby program to record itself, and run nothing"),
          *COMMON
        ],
        "stat" => [*STAT, Option.new(long: "report", key: :report, text: "tables of functions as well")],
        "exec" => STAT,
        "trace" => TraceOptions::LIST,
        "report" => READING,
        "view" => [ControlOptions::MAX_BYTES, *ControlOptions::SERVING],
        "diff" => [*READING.reject { |option| %i[by_label synthetic_frames dot].include?(option.key) },
                   Option.new(long: "relative", key: :relative,
                              text: "compare shares instead of times, so that runs of different length compare")],
        **ControlOptions::TABLE
      }.freeze

      module_function

      # @return [Hash] with every key of the command
      # @param order [Boolean] stop at the first word that is no option: it and what follows is a command
      def parse(command, arguments, order: false)
        values = TABLE[command].to_h { |option| [option.key, option.default] }
        parser = OptionParser.new { |one| TABLE[command].each { |option| declare(one, option, values) } }
        parser.on("-h", "--help") do
          Printer.out CLI.command(command).help
          $stdout.flush # here, where a full disk is told
          exit
        end
        rest = CLI.parsing(command) { order ? parser.order(arguments) : parser.permute(arguments) }
        [checked(command, values), rest]
      end

      def checked(command, values)
        COUNTS.each do |key|
          next if values[key].nil? || COUNTED.cover?(values[key])

          raise Error, "#{command}: #{key} must be from #{COUNTED.min} to #{COUNTED.max}, got #{values[key]}"
        end
        values
      end

      def declare(parser, option, values)
        takes = option.takes == Integer ? [Integer] : []
        takes = [option.choices] if option.choices
        parser.on(*option.flags, *takes) do |value|
          if option.takes == Array then (values[option.key] ||= []) << value
          elsif option.default == true then values[option.key] = false
          else values[option.key] = option.argument ? value : true
          end
        end
      end

      # @return [String] a line for each option
      def help(command)
        width = TABLE[command].map { |option| option.flags.join(", ").size }.max + 2
        TABLE[command].map { |option| format("  %-#{width}s%s\n", option.flags.join(", "), option.text) }.join
      end
      private_class_method :checked, :declare
    end
  end
end
