# frozen_string_literal: true

require_relative "advice"
require_relative "profile_file"
require_relative "upload"

module RperfPush
  module CLI
    # rperf-push push: uploads files one after the other and prints one line for each. A bad file does not stop the others.
    class Push
      TRIES = 3
      LONGEST_WAIT = 30

      def initialize(wait: ->(seconds) { sleep(seconds) })
        @wait = wait
        @settings = Settings.new
        @parser = OptionParser.new("usage: rperf-push push [OPTIONS] FILE...") { |parser| @settings.declare(parser) }
      end

      def help = @parser.help

      # @return [Integer] the exit status
      def run(arguments)
        paths = parse(arguments)
        raise Mistake, "push needs a file" if paths.empty?

        @upload = Upload.new(@settings)
        statuses = paths.each_with_index.map do |path, index|
          status = push(path)
          left = paths.size - index - 1
          raise Mistake, "no connection, #{left} more not tried" if status == :unreachable && left.positive?

          status
        end
        statuses.all?(:delivered) ? 0 : 1
      end

      private

      def parse(arguments)
        @parser.parse(arguments)
      rescue OptionParser::ParseError => e
        raise Mistake, "push: #{e.message}"
      end

      def push(path)
        file = ProfileFile.new(path)
        result = deliver(file)
        return tell(path, file, result) if result[:verdict] == :delivered

        $stderr.puts "#{path}: #{result[:message]}", *advice(file, result)
        result[:verdict] == :retry && result[:http_status].nil? ? :unreachable : :failed
      rescue ProfileFile::Unfit => e
        $stderr.puts e.message
        :failed
      end

      def deliver(file)
        TRIES.times do |try|
          result = @upload.deliver(file.bytes, time_ns: time_of(file), duration_ns: file.duration_ns, samples: file.sample_count,
                                               **name_of(file))
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

      def tell(path, file, result)
        puts "#{path}: #{file.sample_count} samples to #{result[:target]} as #{result[:application_name]}"
        :delivered
      end

      def advice(file, result)
        most = result[:max_raw_bytes]
        if most && file.raw_bytes > most
          return [format("It holds %.1f MiB uncompressed; %.1f MiB are taken for sure.", mib(file.raw_bytes), mib(most))]
        end

        [Advice.new(result, @settings).text].compact
      end

      def mib(bytes) = bytes / 1024.0 / 1024.0
    end
  end
end
