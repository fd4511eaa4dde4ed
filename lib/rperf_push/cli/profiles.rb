# frozen_string_literal: true

require "rperf_push"
require_relative "errors"

module RperfPush
  module CLI
    # Reads files, and folders of files, as one profile.
    module Profiles
      OF_A_PROCESS = /\d{8}T\d{6}\.\d{3}Z-(\d+)-\d+\.pb\.gz\z/
      NAMES = "*.{json,json.gz,pb,pb.gz,pprof,collapsed}"

      module_function

      # @param max_bytes [Integer] of each file, uncompressed
      # @return [Hash]
      def load(name, paths, max_bytes:)
        files = files(name, paths)
        limit = Limit.new(max_bytes)
        # What is read is kept, and has a limit: to look for garbage in between would only cost time.
        GC.disable
        profiles = files.map { |file| [file, Formats.load(file, limit)] }
        return profiles.first.last if profiles.size == 1

        profiles.each_with_object(Merge.new) { |(file, data), merge| merge.add(data, process: process_of(file)) }.data
      rescue FormatError, ArgumentError => e
        raise Error, "#{name}: #{e.message}"
      ensure
        GC.enable
      end

      # @return [Array<String>] folders replaced by the profiles in them
      def files(name, paths) = paths.flat_map { |path| File.directory?(path) ? in_folder(name, path) : [path] }

      # Windows that the directory backend wrote tell by their names whose they are.
      def process_of(file) = File.basename(file)[OF_A_PROCESS, 1] || Object.new

      def in_folder(name, path)
        files = Dir.glob(NAMES, base: path).sort.map { |file| File.join(path, file) }
        files.empty? ? raise(Error, "#{name}: #{path}: no profiles in this folder") : files
      end

      # Prevents a command from overwriting one of its inputs.
      def write(name, text, output, inputs)
        return Printer.as_it_is(text) unless output

        if files(name, inputs).any? { |input| File.exist?(input) && File.exist?(output) && File.identical?(input, output) }
          raise Error, "#{name}: #{output} is one of the inputs"
        end

        AtomicFile.write(output, text)
      rescue Errno::EPIPE
        raise
      rescue SystemCallError => e
        raise Error, "#{name}: #{output}: #{CLI.reason(e)}"
      end
      private_class_method :in_folder, :process_of
    end
  end
end
