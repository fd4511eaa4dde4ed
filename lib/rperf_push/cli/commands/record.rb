# frozen_string_literal: true

require "fileutils"
require "json"
require "shellwords"
require_relative "../options"
require_relative "../output_file"
require_relative "../recorded_facts"
require_relative "../recording"

module RperfPush
  module CLI
    module Commands
      # rperf-push record: a command, and its profile in a file. Its options are in ../options.rb, as those of all commands are.
      class Record
        def help = "usage: rperf-push record [OPTIONS] [--] COMMAND [ARGUMENT...] | SCRIPT.rb\n#{Options.help("record")}"

        # @return [Integer] the exit status: the command's
        def run(arguments)
          @options, command = Options.parse("record", arguments, order: true)
          raise Error, "record needs a command" if command.empty? && !@options[:print_env]

          recording = Recording.new("record", @options)
          meta = RecordedFacts.given("record", @options)
          return print_environment(recording, command, meta) if @options[:print_env]

          output = output_path(meta)
          OutputFile.check("record", output) if output
          finish(recording.run(command), command, output, meta)
        end

        private

        def output_path(meta)
          return if @options[:print]
          return snapshot_path(meta) if @options[:snapshot_dir]

          @options[:output] || OutputFile::DEFAULT
        end

        def snapshot_path(meta)
          FileUtils.mkdir_p(@options[:snapshot_dir])
          SessionFolder.snapshot_path(@options[:snapshot_dir], meta)
        rescue SystemCallError => e
          raise Error, "record: #{@options[:snapshot_dir]}: #{CLI.reason(e)}"
        end

        def print_environment(recording, command, meta)
          raise Error, "record: --print-env runs no command, got #{command.first}" if command.any?

          variables = { "OUTPUT" => output_of_root(meta), "META" => Printable.text(JSON.generate(meta)),
                        "VERBOSE" => (1 if @options[:verbose]), "FORMAT" => @options[:print] ? "text" : @options[:format] }.compact
          recording.environment(variables).sort.each { |name, value| Printer.as_it_is("export #{name}=#{Shellwords.escape(value)}\n") }
          0
        end

        # Of snapshots the folder only: the program that is the root knows the name.
        def output_of_root(meta)
          output = output_path(meta) or return "/dev/stdout"
          OutputFile.check("record", output)
          @options[:snapshot_dir] ? "#{File.absolute_path(@options[:snapshot_dir])}/" : File.absolute_path(output)
        end

        def finish(result, command, output, meta)
          return nothing(result, command) unless result.data

          data = result.data.merge(meta:)
          Printer.err Verbose.text(data) if @options[:verbose]
          if @options[:print] then Printer.out Text.encode(data)
          else OutputFile.save("record", output, data, @options[:format])
          end
          result.status
        end

        def nothing(result, command)
          Printer.err "rperf-push: #{command.first}: #{why_nothing(result)}"
          result.status
        end

        def why_nothing(result)
          return "no Ruby program ran, nothing was recorded" if result.process_count.zero?
          return "it counted nothing with RperfPush.sample, nothing was recorded" if result.ends.any? && only_counts?

          raise Error, "record: what was recorded could not be written to the session's folder"
        end

        # All other modes find something in every program.
        def only_counts? = SessionOptions.modes("record", @options[:mode]) == %w[custom]
      end
    end
  end
end
