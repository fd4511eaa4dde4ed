# frozen_string_literal: true

require "stringio"
require "zlib"
require_relative "../base/atomic_file"
require_relative "formats/collapsed"
require_relative "formats/json_file"
require_relative "formats/limit"
require_relative "formats/pprof"
require_relative "formats/text"

module RperfPush
  # What no reader takes: the message names the file and what is wrong, in one line.
  class FormatError < StandardError; end

  # Files of profiles: which format a name asks for, and which one the bytes are in.
  module Formats
    WRITERS = { json: JSONFile, pprof: PProf, collapsed: Collapsed, text: Text }.freeze
    EXTENSIONS = {
      ".json.gz" => :json, ".json" => :json, ".pb.gz" => :pprof, ".pb" => :pprof, ".pprof" => :pprof,
      ".collapsed" => :collapsed, ".folded" => :collapsed, ".txt" => :text
    }.freeze
    GZIP = "\x1F\x8B".b
    # What people may well give to a reader, by how it begins.
    NO_PROFILES = {
      /\ATotal: \S+ \(\w+\)\n/n => "a text report, from which no profile can be read",
      /\A\x04\x08/n => "a dump of Ruby, such as stackprof's; what stackprof --stackcollapse makes of it can be read"
    }.freeze
    GZIP_LEVEL = 1 # a third of the time of level 6, for a tenth more bytes

    module_function

    # @param format [Symbol, String, nil] nil: what the extension says, or else pprof
    # @return [Symbol]
    def for_path(path, format = nil)
      if format
        return format.to_sym if WRITERS.key?(format.to_sym)

        raise ArgumentError, "format must be one of #{WRITERS.keys.map(&:inspect).join(", ")}, got #{format.inspect}"
      end
      extension = EXTENSIONS.keys.find { |ending| path.to_s.end_with?(ending) }
      extension ? EXTENSIONS[extension] : :pprof
    end

    # @return [String] the bytes of a file with that name
    def encode(data, path, format = nil)
      format = for_path(path, format)
      bytes = WRITERS.fetch(format).encode(data)
      format == :json && path.to_s.end_with?(".gz") ? Zlib.gzip(bytes, level: GZIP_LEVEL) : bytes
    end

    # What is in the file decides, not its name.
    #
    # @return [Hash] as {RperfPush.stop} returns it
    # @raise [FormatError]
    def load(path, limit = Limit.new) = decode(read(path, limit), path, limit)

    def decode(bytes, name, limit = Limit.new)
      raw = unpacked(bytes, name, limit)
      _, reason = NO_PROFILES.find { |beginning, _| raw.byteslice(0, 100).b.match?(beginning) }
      raise FormatError, "#{name}: #{reason}" if reason

      limit.decode(bytes.bytesize) { |memory| reader(raw).decode(raw, memory:) }
    rescue ArgumentError, TypeError, RangeError => e
      raise FormatError, "#{name}: #{e.message.lines.first.to_s.chomp}"
    end

    def reader(raw)
      return JSONFile if raw.match?(/\A\s*\{/)

      Collapsed.like?(raw) ? Collapsed : PProf
    end

    # @return [String] the bytes of the file
    def read(path, limit = Limit.new)
      raise FormatError, "#{path}: is a directory" if File.directory?(path)

      bytes = File.open(path, "rb") { |file| limit.read(file) }
      raise FormatError, "#{path}: is empty" if bytes.empty?

      bytes
    rescue Limit::Exceeded => e
      raise FormatError, "#{path}: #{e.message}"
    rescue SystemCallError => e
      raise FormatError, "#{path}: #{e.message[/\A[^@(]*/].sub(/ - .*/, "").strip}"
    end

    # @return [Hash, nil] as {RperfPush.read_meta}
    def read_meta(path)
      File.open(path, "rb") do |file|
        packed = file.read(GZIP.bytesize) == GZIP
        file.rewind
        JSONFile.head((packed ? Zlib::GzipReader.new(file) : file).read(JSONFile::HEAD_BYTES).to_s)
      end
    rescue SystemCallError, Zlib::Error
      nil
    end

    def unpacked(bytes, name, limit = Limit.new)
      return bytes unless bytes.start_with?(GZIP)

      Zlib::GzipReader.wrap(StringIO.new(bytes)) { |gzip| limit.read(gzip) }
    rescue Limit::Exceeded => e
      raise FormatError, "#{name}: unpacked #{e.message}"
    rescue Zlib::Error => e
      raise FormatError, "#{name}: not a whole gzip file: #{e.message}"
    end
  end
end
