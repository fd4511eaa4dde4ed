# frozen_string_literal: true

require_relative "../../calls/call_trace"
require_relative "option"

module RperfPush
  module CLI
    # The options of rperf-push trace.
    module TraceOptions
      LIST = [
        Option.new(short: "o", long: "output", argument: "PATH", key: :output,
                   text: "write to PATH instead of a report: .json.gz, .pb.gz, callgrind.out.*, .dot, ..."),
        Option.new(long: "report", argument: "NAME", key: :report, choices: CallReports::NAMES.map(&:to_s),
                   text: "flat, graph (callers and callees), tree, objects (by class and line), callgrind or dot (default: flat)"),
        Option.new(long: "limit", argument: "N", key: :limit, takes: Integer, text: "methods of a report, of a tree children of each node"),
        Option.new(long: "only", argument: "PATTERN", key: :only, takes: Array,
                   text: "only methods with that label, class or path (repeatable)"),
        Option.new(long: "except", argument: "PATTERN", key: :except, takes: Array, text: "without these (repeatable)"),
        Option.new(short: "m", long: "mode", argument: "MODE", key: :mode, default: "wall",
                   text: "wall, cpu (of the process: slower), alloc (objects), or several as wall,alloc (default: wall)"),
        Option.new(long: "no-c-methods", key: :c_methods, default: true, text: "methods written in C are a part of their caller"),
        Option.new(long: "blocks", key: :blocks, text: "blocks are nodes of their own"),
        Option.new(long: "max-nodes", argument: "N", key: :max_nodes, default: CallTrace::MAX_NODES, takes: Integer,
                   text: "chains of calls that are told apart (default: #{CallTrace::MAX_NODES})")
      ].freeze
      # Those of live and attach that mean nothing without --trace.
      LIVE = %i[only except c_methods blocks max_nodes].freeze
      ATTACHED = [:report, :limit, *LIVE].freeze
    end
  end
end
