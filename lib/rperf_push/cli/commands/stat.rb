# frozen_string_literal: true

require_relative "../../data/selection"
require_relative "../options"
require_relative "../output_file"
require_relative "../recorded_facts"
require_relative "../recording"
require_relative "../stat_report"

module RperfPush
  module CLI
    module Commands
      # rperf-push stat: runs a command and prints to standard error what its time was spent on.
      class Stat
        # What its rows need beside what was asked for.
        ALSO = %w[cpu alloc].freeze

        def self.command = "stat"

        def help = "usage: rperf-push #{name} [OPTIONS] [--] COMMAND [ARGUMENT...] | SCRIPT.rb\n#{Options.help(name)}"

        # @return [Integer] the exit status: the command's
        def run(arguments)
          @options, command = Options.parse(name, arguments, order: true)
          raise Error, "#{name} needs a command" if command.empty?

          @modes = SessionOptions.modes(name, @options[:mode]).map(&:to_sym)
          recording = Recording.new(name, @options, also: ALSO)
          meta = RecordedFacts.given(name, @options)
          OutputFile.check(name, @options[:output]) if @options[:output]
          tell(recording.run(command), command, meta)
        end

        private

        def name = self.class.command
        def tables? = @options[:report]

        def tell(result, command, meta)
          Printer.err StatReport.new(result, command.join(" "), @modes, class_labels: @options[:class_labels]).text
          tell_more(Selection.new(result.data, @modes).data.merge(meta:)) if result.data
          result.status
        end

        def tell_more(data)
          Printer.err "", Text.tables(data) if tables?
          Printer.err "", Verbose.text(data) if @options[:verbose]
          OutputFile.save(name, @options[:output], data) if @options[:output]
        end
      end
    end
  end
end
