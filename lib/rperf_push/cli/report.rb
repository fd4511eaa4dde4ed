# frozen_string_literal: true

require_relative "by_label"
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
        Profiles.write("report", Printable.text(text(data)), @options[:output], paths)
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
        elsif @options[:by_label] then ByLabel.new(data, @options[:by_label], value:).text(limit:)
        else tables(data, limit:, value:)
        end
      end

      # With --top an empty line first, as scripts that read rperf's tables expect before each.
      def tables(data, **terms) = @options[:top] ? "\n#{Text.tables(data, **terms)}" : Text.encode(data, errors: true, **terms)

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
  end
end
