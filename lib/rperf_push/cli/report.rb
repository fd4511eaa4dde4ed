# frozen_string_literal: true

require_relative "options"
require_relative "profiles"
require_relative "showing"

module RperfPush
  module CLI
    # rperf-push report: prints a report on one or several files.
    class Report
      DEFAULT_INPUT = "rperf-push.json.gz"

      def help = "usage: rperf-push report [OPTIONS] [FILE|DIR...] (default: #{DEFAULT_INPUT})\n#{Options.help("report")}"

      # @return [Integer] the exit status
      def run(arguments)
        @options, paths = Options.parse("report", arguments)
        paths = [DEFAULT_INPUT] if paths.empty?
        return page(paths) if @options[:html] || Showing.wanted?(@options)

        data = Profiles.load("report", paths, max_bytes: @options[:max_bytes])
        data = with_states(data) if @options[:synthetic_frames]
        Profiles.write("report", text(data), @options[:output], paths)
        0
      rescue ArgumentError => e
        raise Mistake, "report: #{e.message}"
      end

      private

      def page(paths)
        showing = Showing.new("report", { nil => paths }, max_bytes: @options[:max_bytes])
        @options[:html] ? Profiles.write("report", showing.html, @options[:output], paths) : showing.serve(@options)
        0
      end

      def text(data)
        value = @options[:value]&.to_sym
        limit = @options[:limit]
        if @options[:collapsed] then Collapsed.encode(data, value:)
        elsif @options[:method] then method_text(data, value, limit)
        elsif @options[:dot] then RperfPush::Report.new(data, value:).dot(limit:)
        elsif @options[:format] then Table.report(data, @options[:format], limit:, value:)
        elsif @options[:by_label] then ByLabel.text(data, @options[:by_label], limit:, value:)
        else Text.encode(data, limit:, value:) # --top, --text, and the default
        end
      end

      def method_text(data, value, limit)
        name = @options[:method]
        RperfPush::Report.new(data, value:).method(name, limit:) || raise(Mistake, "report: no method #{name} in the profile")
      end

      # Adds sperf's frames: the state of the VM as the leaf of the stack.
      def with_states(data)
        frames = Values.label_sets(data).map do |set|
          state = States.of(set)
          [["", state.frame, 0]] if state
        end
        samples = Values.samples(data).map { |stack, *rest| [frames[rest[2] || 0] ? frames[rest[2]] + stack : stack, *rest] }
        data.merge(aggregated_samples: samples)
      end
    end

    # Prints the time of each value of one label.
    module ByLabel
      module_function

      def text(data, key, limit:, value: nil)
        sums = Values.sums(data, value) { |set| value_of(set, key) }
        total = sums.values.sum
        measured = value || Values.names(data).first
        rows = sums.sort_by { |name, sum| [-sum, name] }.first(limit).map do |name, sum|
          format("%18s %5.1f%%  %s\n", Text.quantity(sum, data, measured), total.zero? ? 0 : sum * 100.0 / total, name)
        end
        " #{key}:\n#{rows.join}"
      end

      # A number of another producer may have a unit.
      def value_of(set, key)
        _, value = set.find { |name, _| name.to_s == key }
        value.nil? ? "(none)" : [*value].join(" ")
      end
      private_class_method :value_of
    end
  end
end
