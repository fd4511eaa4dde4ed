# frozen_string_literal: true

require_relative "../by_label"
require_relative "../options"
require_relative "../output_file"
require_relative "../profiles"
require_relative "../web_ui"

module RperfPush
  module CLI
    module Commands
      # rperf-push report: prints a report on one or several files. Its tables are in data/formats/text.rb.
      class Report
        def help = "usage: rperf-push report [OPTIONS] [FILE|DIR...] (default: #{OutputFile::DEFAULT})\n#{Options.help("report")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, paths = Options.parse("report", arguments)
          paths = [OutputFile::DEFAULT] if paths.empty?
          return page(paths) if @options[:html] || WebUi.wanted?(@options)

          data = Profiles.load("report", paths, max_bytes: @options[:max_bytes])
          data = with_states(data) if @options[:synthetic_frames]
          Profiles.write("report", Printable.text(text(data)), @options[:output], paths)
          0
        rescue ArgumentError => e
          raise Error, "report: #{e.message}"
        end

        private

        def page(paths)
          web_ui = WebUi.new("report", { nil => paths }, max_bytes: @options[:max_bytes])
          @options[:html] ? Profiles.write("report", web_ui.html, @options[:output], paths) : web_ui.serve(@options)
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
        def tables(data, **columns) = @options[:top] ? "\n#{Text.tables(data, **columns)}" : Text.encode(data, errors: true, **columns)

        def method_text(data, value, limit)
          name = @options[:method]
          RperfPush::Report.new(data, value:).method(name, limit:) || raise(Error, "report: no method #{name} in the profile")
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
end
