# frozen_string_literal: true

require "zlib"
require_relative "pprof_messages"

# Builds profiles for raw pushes, valid unless told otherwise: every rule that a test breaks is broken through
# `message`, on an otherwise good profile.
class PprofBuilder
  # @return [Google::Protobuf::MessageExts] the profile so far, free to be changed
  attr_reader :message

  # @param types [Array<Array(String, String)>] sample types with their units
  # @param time_nanos [Integer] start of the window
  def initialize(types: [%w[cpu nanoseconds], %w[wall nanoseconds]], time_nanos: Time.now.to_i * 1_000_000_000)
    @message = PprofMessages::WireProfile.new(time_nanos:, duration_nanos: 1_000_000_000, period: 10_101_010)
    @strings = {}
    @functions = {}
    string("")
    message.mapping << make("Mapping", id: 1, filename: string("app.rb"), has_functions: true, has_filenames: true,
                                       has_line_numbers: true)
    types.each { |type| message.sample_type << value_type(*type) }
    message.period_type = value_type("cpu", "nanoseconds")
    message.default_sample_type = string(types.dig(0, 0))
  end

  # @param stack [Array<String>] method names, leaf first
  # @param values [Array<Integer>] one for each sample type
  # @param labels [Hash{String => String, Integer}]
  # @return [self]
  def sample(stack, values, labels = {})
    message.sample << make("Sample", location_id: stack.map { |name| location(name) }, value: values,
                                     label: labels.map { |key, value| label(key, value) })
    self
  end

  # @return [Integer] the index of a string, added where it is new
  def string(text)
    @strings[text] ||= begin
      message.string_table << text.b
      message.string_table.size - 1
    end
  end

  # @return [String] the encoded profile
  def bytes = PprofMessages::WireProfile.encode(message)

  # @return [String] the encoded profile, gzipped
  def gzip = Zlib.gzip(bytes)

  private

  def make(name, **fields) = PprofMessages::WIRE.fetch(name).new(**fields)

  def value_type(type, unit) = make("ValueType", type: string(type), unit: string(unit))

  def label(key, value)
    make("Label", key: string(key), **(value.is_a?(Integer) ? { num: value } : { str: string(value) }))
  end

  def location(name)
    @functions[name] ||= begin
      id = @functions.size + 1
      message.function << make("Function", id:, name: string(name), filename: string("app.rb"), start_line: id)
      message.location << make("Location", id:, mapping_id: 1, line: [make("Line", function_id: id, line: id + 1)])
      id
    end
  end
end
