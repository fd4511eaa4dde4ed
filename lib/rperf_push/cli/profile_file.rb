# frozen_string_literal: true

require "zlib"
require_relative "profile_groups"
require_relative "wire"

module RperfPush
  module CLI
    # A pprof file and the checks that it needs before an upload: some servers crash on a profile that is empty or has no
    # period_type.
    class ProfileFile
      class Unfit < Error; end

      GZIP = "\x1F\x8B".b
      # Each field that is read becomes an object: so many bytes a field are believed, on the average.
      LEAST_BYTES_OF_FIELD = 16

      # Numbers of profile.proto's fields.
      SAMPLE_TYPE = 1
      SAMPLE = 2
      STRING = 6
      TIME = 9
      DURATION = 10
      PERIOD_TYPE = 11

      # Fields of the message Sample.
      SAMPLE_VALUE = 2

      # The name that the directory backend gives: NAME-20261121T101530.123Z-PID-SEQ.pb.gz
      NAME = /\A(?<application>.+)-\d{8}T\d{6}\.\d{3}Z-\d+-\d+\.pb\.gz\z/

      attr_reader :path

      # @param max_bytes [Integer] uncompressed
      # @raise [Unfit] if the file is not a profile that can be sent
      def initialize(path, max_bytes: Limit::BYTES)
        @path = path
        @max_bytes = max_bytes
        @limit = Limit.new(max_bytes)
        @fields_left = max_bytes / LEAST_BYTES_OF_FIELD
        @counts = Hash.new(0)
        @numbers = Hash.new(0)
        raw = unpacked(read)
        @raw_bytes = raw.bytesize
        scan(raw)
        judge
        @groups = ProfileGroups.new(raw)
      rescue FormatError => e
        raise Unfit, e.message
      rescue Wire::Broken
        broken
      end

      # What is sent: gzip-compressed, as all backends need it.
      Part = Struct.new(:group, :bytes, :raw_bytes, :samples) do
        def name = ProfileGroups.name_of(group)
        def level? = ProfileGroups.level?(group)
      end

      # @param apart [Boolean] each group of values by itself
      # @return [Array<Part>]
      # @raise [Unfit]
      def parts(apart:)
        return [whole] unless apart

        @groups.parts.map do |part|
          part.samples ? Part.new(part.group, Zlib.gzip(part.raw, level: 1), part.raw.bytesize, part.samples) : whole
        end
      rescue Wire::Broken
        broken
      end

      # @return [Integer] start of the window in nanoseconds since the epoch; 0 if the file does not say
      def time_ns = @numbers[TIME]

      def duration_ns = @numbers[DURATION]

      # @return [Integer]
      def sample_count = @counts[SAMPLE]

      # @return [String, nil] the application's name from the file name of the directory backend
      def application_name = NAME.match(File.basename(path))&.[](:application)

      private

      def whole
        bytes = @bytes.start_with?(GZIP) ? @bytes : Zlib.gzip(@bytes, level: 1)
        Part.new(@groups.numbers.first, bytes, @raw_bytes, sample_count)
      end

      def read = @bytes = Formats.read(path, @limit)
      def unpacked(bytes) = Formats.unpacked(bytes, path, @limit)

      def scan(raw)
        each_field(raw) do |field, value|
          @counts[field] += 1
          @numbers[field] = value if value.is_a?(Integer)
          @first_string ||= value if field == STRING
          @has_value ||= field == SAMPLE && value?(value)
        end
      end

      def each_field(message)
        Wire.each_field(message) do |field, value, *|
          raise Unfit, "#{path}: has more fields than a profile of #{@max_bytes} bytes" if (@fields_left -= 1).negative?

          yield field, value
        end
      end

      # True if one of a sample's values is not zero; the values may be packed.
      def value?(sample)
        broken unless sample.is_a?(String)
        each_field(sample) do |field, value|
          return true if field == SAMPLE_VALUE && (value.is_a?(Integer) ? !value.zero? : value.each_byte.any?(&:positive?))
        end
        false
      end

      def broken = raise(Unfit, "#{path}: not a pprof file")

      def judge
        broken if @counts[STRING].zero? || @counts[SAMPLE_TYPE].zero? || @first_string != ""
        raise Unfit, "#{path}: a pprof without samples" if @counts[SAMPLE].zero?
        raise Unfit, "#{path}: a pprof whose samples have no value" unless @has_value
        raise Unfit, "#{path}: a pprof without period_type, which some servers do not survive" if @counts[PERIOD_TYPE].zero?
      end
    end
  end
end
