# frozen_string_literal: true

require "google/protobuf"
require "google/protobuf/descriptor_pb"

# Message classes made at run time from a description in Ruby, so that the tests decode with a library, and from a
# schema, that share nothing with the encoder under test.
#
#   ProtobufSchema.define("push.v1", "Pair" => { name: [1, :string] }, "Push" => { pairs: [1, [:Pair]] })["Push"]
module ProtobufSchema
  POOL = Google::Protobuf::DescriptorPool.new
  SCALARS = %i[string bytes bool double int32 int64 uint64].freeze

  # @param package [String] the protobuf package of the messages
  # @param messages [Hash{String => Hash{Symbol => Array}}] name => { field: [number, type] }; a type is one of
  #   SCALARS, the name of a message of this package, or either in an array for a repeated field
  # @return [Hash{String => Class}]
  def self.define(package, messages)
    file = Google::Protobuf::FileDescriptorProto.new(
      name: "#{package}.proto", package:, syntax: "proto3",
      message_type: messages.map { |name, fields| descriptor(package, name, fields) }
    )
    POOL.add_serialized_file(file.to_proto)
    messages.to_h { |name, _| [name, POOL.lookup("#{package}.#{name}").msgclass] }
  end

  def self.descriptor(package, name, fields)
    Google::Protobuf::DescriptorProto.new(
      name:, field: fields.map { |field, (number, type)| field_descriptor(package, field, number, type) }
    )
  end

  def self.field_descriptor(package, name, number, type)
    one, label = type.is_a?(Array) ? [type.first, :LABEL_REPEATED] : [type, :LABEL_OPTIONAL]
    kind = SCALARS.include?(one) ? { type: :"TYPE_#{one.upcase}" } : { type: :TYPE_MESSAGE, type_name: ".#{package}.#{one}" }
    Google::Protobuf::FieldDescriptorProto.new(name: name.to_s, number:, label:, **kind)
  end
  private_class_method :descriptor, :field_descriptor
end
