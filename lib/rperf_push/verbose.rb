# frozen_string_literal: true

require_relative "data/formats/text"
require_relative "data/graph"

module RperfPush
  # The text of `verbose:` and `-v`: what was sampled, at which cost, and the top functions.
  module Verbose
    TOP = 10
    TAG = "[RperfPush]"

    module_function

    # @return [String]
    def text(data)
      graph = Graph.new(data)
      [
        "mode=#{Array(data[:mode]).join("+")} frequency=#{data[:frequency]}Hz", sampling(data),
        "samples recorded: #{Values.samples(data).size}", *top("flat", graph.by_self, :self_ns, graph),
        *top("cum", graph.by_total, :total_ns, graph), *Text.reached(data)
      ].map { |line| "#{TAG} #{line}\n" }.join
    end

    def sampling(data)
      calls = data[:sampling_count].to_i
      time_ns = data[:sampling_time_ns].to_i
      format("sampling: %<calls>d calls, %<ms>.2fms total, %<us>.1fus/call avg",
             calls:, ms: time_ns / 1e6, us: calls.zero? ? 0 : time_ns / 1e3 / calls)
    end

    def top(name, functions, key, graph)
      shown = functions.first(TOP)
      ["top #{shown.size} by #{name}:"] + shown.map do |function|
        format("%<ms>10.1fms %<percent>5.1f%%  %<function>s", ms: function[key] / 1e6, percent: graph.percent(function[key]), function:)
      end
    end
    private_class_method :sampling, :top
  end
end
