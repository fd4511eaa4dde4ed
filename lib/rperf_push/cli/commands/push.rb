# frozen_string_literal: true

require_relative "../advice"
require_relative "../options/control_options"
require_relative "../profile_file"
require_relative "../upload"

module RperfPush
  module CLI
    module Commands
      # rperf-push push: uploads files one after the other and prints one line for each. A bad file does not stop the others.
      class Push
        TRIES = 3
        LONGEST_WAIT = 30

        def initialize(wait: ->(seconds) { sleep(seconds) })
          @wait = wait
          @settings = Settings.new
          @max_bytes = Limit::BYTES
          @parser = OptionParser.new("usage: rperf-push push [OPTIONS] FILE...") do |parser|
            @settings.declare(parser)
            parser.on(*ControlOptions::MAX_BYTES.flags, Integer, ControlOptions::MAX_BYTES.text) { |number| @max_bytes = number }
          end
        end

        def help = @parser.help

        # @return [Integer] the exit status
        def run(arguments)
          paths = CLI.parsing("push") { @parser.parse(arguments) }
          raise Error, "push needs a file" if paths.empty?

          @upload = Upload.new(@settings)
          statuses = paths.each_with_index.map do |path, index|
            status = push(path)
            left = paths.size - index - 1
            raise Error, "no connection, #{left} more not tried" if status == :unreachable && left.positive?

            status
          end
          statuses.all?(:delivered) ? 0 : 1
        rescue ArgumentError => e
          raise Error, "push: #{e.message}"
        end

        private

        # @return [Symbol] :delivered, :failed, or :unreachable
        def push(path)
          file = ProfileFile.new(path, max_bytes: @max_bytes)
          parts = file.parts(apart: @upload.one_group?)
          results = parts.each_with_object([]) do |part, all|
            all << deliver(file, part)
            return give_up(path, part, all) unless all.last[:verdict] == :delivered
          end
          tell(path, parts, results.last)
        rescue ProfileFile::Unfit => e
          Printer.err e.message
          :failed
        end

        # @param results [Array<Hash>] the last one is of the part
        def give_up(path, part, results)
          result = results.last
          of = " (values of #{part.name}; those before are sent)" if results.size > 1
          Printer.err "#{path}: #{result[:message]}#{of}", *advice(part, result)
          result[:verdict] == :retry && result[:http_status].nil? ? :unreachable : :failed
        end

        def deliver(file, part)
          TRIES.times do |try|
            result = @upload.deliver(part.bytes, time_ns: time_of(file), duration_ns: part.level? ? 0 : file.duration_ns,
                                                 samples: part.samples, group: part.group, **name_of(file))
            return result if result[:verdict] != :retry || result[:http_status].nil? || try == TRIES - 1

            @wait.call([result[:retry_after] || (2**try), LONGEST_WAIT].min)
          end
        end

        def time_of(file)
          file.time_ns.positive? ? file.time_ns : Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
        end

        # The name of a file of the directory backend tells its application.
        def name_of(file)
          return {} if @settings.chosen?("application_name") || file.application_name.nil?

          { application_name: file.application_name }
        end

        def tell(path, parts, result)
          samples = parts.map { |part| "#{part.samples} samples#{" of #{part.name}" if parts.size > 1}" }.join(", ")
          Printer.out "#{path}: #{samples} to #{result[:target]} as #{result[:application_name]}"
          :delivered
        end

        def advice(part, result)
          most = result[:max_raw_bytes]
          if most && part.raw_bytes > most
            return [format("It holds %.1f MiB uncompressed; %.1f MiB are taken for sure.", mib(part.raw_bytes), mib(most))]
          end

          [Advice.new(result, @settings).text].compact
        end

        def mib(bytes) = bytes / 1024.0 / 1024.0
      end
    end
  end
end
