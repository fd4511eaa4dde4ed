# frozen_string_literal: true

require "zlib"

# Reads a pprof, gzipped or not, into what a summary needs. No library: the few fields it wants are quickly decoded.
class PprofReader
  # frames are method names, the one that ran first; values follow the profile's sample_types
  Sample = Struct.new(:frames, :values, :labels)

  # Protocol buffers' wire format: each field of a message as its number and its value, an Integer or a String of bytes.
  module Wire
    module_function

    def each_field(bytes)
      offset = 0
      while offset < bytes.bytesize
        tag, offset = varint(bytes, offset)
        value, offset = value(bytes, offset, tag & 7)
        yield tag >> 3, value
      end
    end

    # A repeated number, packed into one field or on its own.
    def numbers(value)
      return [value] if value.is_a?(Integer)

      list = []
      offset = 0
      while offset < value.bytesize
        number, offset = varint(value, offset)
        list << number
      end
      list
    end

    def value(bytes, offset, type)
      case type
      when 0 then varint(bytes, offset)
      when 1 then [bytes.byteslice(offset, 8).unpack1("Q<"), offset + 8]
      when 2
        size, offset = varint(bytes, offset)
        raise ArgumentError, "cut short" if offset + size > bytes.bytesize

        [bytes.byteslice(offset, size), offset + size]
      when 5 then [bytes.byteslice(offset, 4).unpack1("L<"), offset + 4]
      else raise ArgumentError, "unknown wire type #{type}"
      end
    end

    def varint(bytes, offset)
      number = shift = 0
      loop do
        byte = bytes.getbyte(offset) || raise(ArgumentError, "cut short")
        offset += 1
        number |= (byte & 0x7f) << shift
        return [number, offset] if byte < 0x80

        shift += 7
      end
    end
  end

  attr_reader :sample_types, :samples, :time_nanos, :duration_nanos

  def self.read(path) = new(File.binread(path))

  def initialize(bytes)
    bytes = Zlib.gunzip(bytes) if bytes.start_with?("\x1f\x8b".b)
    @fields = Hash.new { |fields, number| fields[number] = [] }
    Wire.each_field(bytes) { |number, value| @fields[number] << value }
    @strings = @fields[6].map { |string| string.dup.force_encoding(Encoding::UTF_8) }
    @time_nanos = @fields[9].last || 0
    @duration_nanos = @fields[10].last || 0
    @sample_types = @fields[1].map { |type| @strings[message(type)[1]] }
    @samples = read_samples
  end

  private

  # The last value of each field, as a Hash. A field that is absent is 0, as the format has it.
  def message(bytes)
    Hash.new(0).tap { |fields| Wire.each_field(bytes) { |number, value| fields[number] = value } }
  end

  def read_samples
    frames = read_locations
    @fields[2].map do |bytes|
      sample = Sample.new([], [], {})
      Wire.each_field(bytes) do |number, value|
        case number
        when 1 then Wire.numbers(value).each { |id| sample.frames.concat(frames.fetch(id)) }
        when 2 then sample.values.concat(Wire.numbers(value))
        when 3 then add_label(sample.labels, message(value))
        end
      end
      sample
    end
  end

  # Location id to the names of its methods: several where some were inlined.
  def read_locations
    names = @fields[5].to_h { |bytes| message(bytes).then { |function| [function[1], @strings[function[2]]] } }
    @fields[4].to_h do |bytes|
      id = 0
      lines = []
      Wire.each_field(bytes) do |number, value|
        id = value if number == 1
        lines << names.fetch(message(value)[1]) if number == 4
      end
      [id, lines]
    end
  end

  def add_label(labels, label)
    labels[@strings[label[1]]] = label[2].zero? ? label[3] : @strings[label[2]]
  end
end
