# frozen_string_literal: true

require "zlib"
require_relative "pprof_messages"

# A pprof profile with its indices resolved, for reading: the one reader of the specs, the benchmarks and the demo. It
# decodes with a library, and shares nothing with the encoder under test.
#
# Stacks run from the leaf to the root, as in pprof.
class PprofProfile
  Frame = Struct.new(:name, :filename, :line, :start_line, :system_name)
  Sample = Struct.new(:stack, :values, :labels, :numbers)

  attr_reader :sample_types, :samples, :mappings, :time_nanos, :duration_nanos, :period_type, :period,
              :default_sample_type, :comments

  # @param path [String]
  def self.read(path) = from_bytes(File.binread(path))

  # @param bytes [String] as it is in a file, or on its way to a server: gzipped or not
  def self.from_bytes(bytes)
    bytes = Zlib.gunzip(bytes) if bytes.start_with?("\x1F\x8B".b)
    from_message(PprofMessages::Profile.decode(bytes))
  end

  # @param hash [Hash] a profile as the JSON mapping of protobuf has it (camelCase keys, 64 bit numbers as text)
  def self.from_json(hash)
    new(hash)
  end

  # @param message [Google::Protobuf::MessageExts] a decoded profile
  def self.from_message(message)
    new(message.to_h.then { |hash| camelize(hash) })
  end

  def self.camelize(value)
    case value
    when Hash then value.to_h { |key, inner| [key.to_s.gsub(/_([a-z])/) { $1.upcase }, camelize(inner)] }
    when Array then value.map { |inner| camelize(inner) }
    else value
    end
  end
  private_class_method :camelize

  def initialize(hash)
    @strings = hash.fetch("stringTable", []).map { |string| string.dup.force_encoding(Encoding::UTF_8) }
    @sample_types = list(hash, "sampleType").map { |type| value_type(type) }
    @period_type = value_type(hash["periodType"]) if hash["periodType"]
    @period, @time_nanos, @duration_nanos = %w[period timeNanos durationNanos].map { |key| integer(hash, key) }
    @default_sample_type = string(hash, "defaultSampleType")
    @comments = list(hash, "comment").map { |index| @strings[Integer(index)] }
    @mappings = list(hash, "mapping").map { |mapping| string(mapping, "filename") }
    read_samples(hash)
  end

  # @return [Integer] the sum of one sample type over all samples
  def total(type = sample_types.dig(0, 0))
    index = type_index(type)
    samples.sum { |sample| sample.values[index] }
  end

  # @return [Hash{String => Array(Integer, Integer)}] method name => [self, total], the largest self first
  def by_method(type = sample_types.dig(0, 0))
    index = type_index(type)
    sums = Hash.new { |hash, name| hash[name] = [0, 0] }
    samples.each do |sample|
      value = sample.values[index]
      names = sample.stack.map(&:name)
      sums[names.first][0] += value if names.any?
      names.uniq.each { |name| sums[name][1] += value }
    end
    sums.sort_by { |name, (self_value, total)| [-self_value, -total, name] }.to_h
  end

  # @return [Array<String>]
  def function_names
    samples.flat_map { |sample| sample.stack.map(&:name) }.uniq.sort
  end

  # @return [Array<String>] the values of one text label
  def label_values(key)
    samples.filter_map { |sample| sample.labels[key] }.uniq.sort
  end

  private

  def type_index(type)
    sample_types.index { |name, _| name == type.to_s } or raise KeyError, "no sample type #{type.inspect} in #{sample_types}"
  end

  def read_samples(hash)
    functions = list(hash, "function").to_h { |function| [integer(function, "id"), function] }
    stacks = list(hash, "location").to_h { |location| [integer(location, "id"), frames(location, functions)] }
    @samples = list(hash, "sample").map do |sample|
      Sample.new(list(sample, "locationId").flat_map { |id| stacks.fetch(Integer(id)) },
                 list(sample, "value").map { |value| Integer(value) }, *labels(sample))
    end
  end

  def frames(location, functions)
    list(location, "line").map do |line|
      function = functions.fetch(integer(line, "functionId"))
      Frame.new(string(function, "name"), string(function, "filename"), integer(line, "line"),
                integer(function, "startLine"), string(function, "systemName"))
    end
  end

  def labels(sample)
    texts, numbers = list(sample, "label").partition { |label| integer(label, "str") != 0 }
    [texts.reverse.to_h { |label| [string(label, "key"), string(label, "str")] },
     numbers.to_h { |label| [string(label, "key"), [integer(label, "num"), string(label, "numUnit")]] }]
  end

  def value_type(hash) = [string(hash, "type"), string(hash, "unit")]
  def list(hash, key) = hash[key] || []
  def integer(hash, key) = Integer(hash[key] || 0)
  def string(hash, key) = @strings.fetch(integer(hash, key), "")
end
