# frozen_string_literal: true

require "fileutils"
require "json"
require "shellwords"
require_relative "../settings/git"
require_relative "options"
require_relative "recording"

module RperfPush
  module CLI
    # rperf-push record: a command, and its profile in a file.
    class Record
      DEFAULT_OUTPUT = "rperf-push.json.gz"

      def help = "usage: rperf-push record [OPTIONS] [--] COMMAND [ARGUMENT...] | SCRIPT.rb\n#{Options.help("record")}"

      # @return [Integer] the exit status: the command's
      def run(arguments)
        @options, command = Options.parse("record", arguments, order: true)
        raise Mistake, "record needs a command" if command.empty? && !@options[:print_env]

        recording = Recording.new("record", @options)
        meta = Meta.given("record", @options)
        return print_environment(recording, command, meta) if @options[:print_env]

        output = output_path(meta)
        Writable.check("record", output) if output
        finish(recording.run(command), command, output, meta)
      end

      private

      def output_path(meta)
        return if @options[:print]
        return snapshot_path(meta) if @options[:snapshot_dir]

        @options[:output] || DEFAULT_OUTPUT
      end

      def snapshot_path(meta)
        FileUtils.mkdir_p(@options[:snapshot_dir])
        SessionFolder.snapshot_path(@options[:snapshot_dir], meta)
      rescue SystemCallError => e
        raise Mistake, "record: #{@options[:snapshot_dir]}: #{CLI.reason(e)}"
      end

      def print_environment(recording, command, meta)
        raise Mistake, "record: --print-env runs no command, got #{command.first}" if command.any?

        variables = { "OUTPUT" => output_of_root(meta), "META" => Printable.text(JSON.generate(meta)),
                      "VERBOSE" => (1 if @options[:verbose]), "FORMAT" => @options[:print] ? "text" : @options[:format] }.compact
        recording.environment(variables).sort.each { |name, value| Printer.as_it_is("export #{name}=#{Shellwords.escape(value)}\n") }
        0
      end

      # Of snapshots the folder only: the program that is the root knows the name.
      def output_of_root(meta)
        output = output_path(meta) or return "/dev/stdout"
        Writable.check("record", output)
        @options[:snapshot_dir] ? "#{File.absolute_path(@options[:snapshot_dir])}/" : File.absolute_path(output)
      end

      def finish(result, command, output, meta)
        return nothing(result, command) unless result.data

        data = result.data.merge(meta:)
        Printer.err Verbose.text(data) if @options[:verbose]
        if @options[:print] then Printer.out Text.encode(data)
        else Writable.save("record", output, data, @options[:format])
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

        raise Mistake, "record: what was recorded could not be written to the session's folder"
      end

      # All other modes find something in every program.
      def only_counts? = SessionOptions.modes("record", @options[:mode]) == %w[custom]
    end

    # Where a profile goes: asked before the command runs, and told in one line when it fails.
    module Writable
      module_function

      def check(name, path)
        return if File.exist?(path) && !File.directory?(path) && File.writable?(path) && File.writable?(File.dirname(path))
        raise Mistake, "#{name}: #{path}: is a directory" if File.directory?(path)

        File.open(path, File::WRONLY | File::CREAT | File::EXCL) { nil }
        File.delete(path)
      rescue Errno::EEXIST
        raise Mistake, "#{name}: #{path}: Permission denied" unless AtomicFile.special?(path)
      rescue SystemCallError => e
        raise Mistake, "#{name}: #{path}: #{CLI.reason(e)}"
      end

      def save(name, path, data, format = nil)
        RperfPush.save(path, data, format:)
      rescue SystemCallError => e
        raise Mistake, "#{name}: #{path}: #{CLI.reason(e)}; the profile is #{elsewhere(path, data, format)}"
      end

      # The disk may have filled up while the command ran.
      def elsewhere(path, data, format)
        other = File.join(SessionFolder.own_base, "#{Process.pid}-#{File.basename(path)}")
        RperfPush.save(other, data, format: Formats.for_path(path, format))
        "in #{other}"
      rescue SystemCallError
        "lost"
      end
      private_class_method :elsewhere
    end

    # What the file says of the run.
    module Meta
      module_function

      # Asked before the command starts: it may change what the repository says.
      def given(name, options)
        labels = (options[:label] || []).to_h do |pair|
          key, value = pair.split("=", 2)
          raise Mistake, "#{name}: a label must be KEY=VALUE, got #{pair}" if value.nil? || key.empty?

          [key.to_sym, value]
        end
        { git: Git.meta, labels: (labels unless labels.empty?) }.compact
      end
    end
  end
end
