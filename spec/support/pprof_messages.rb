# frozen_string_literal: true

require_relative "protobuf_schema"

# The messages of pprof's profile.proto.
#
# Profile is the usual one. WireProfile differs in one thing: its strings are bytes, because a decoder for proto3
# refuses text that is not UTF-8, while the servers decode it first and then say which string is wrong.
module PprofMessages
  PARTS = {
    "ValueType" => { type: [1, :int64], unit: [2, :int64] },
    "Label" => { key: [1, :int64], str: [2, :int64], num: [3, :int64], num_unit: [4, :int64] },
    "Sample" => { location_id: [1, [:uint64]], value: [2, [:int64]], label: [3, [:Label]] },
    "Mapping" => {
      id: [1, :uint64], memory_start: [2, :uint64], memory_limit: [3, :uint64], file_offset: [4, :uint64],
      filename: [5, :int64], build_id: [6, :int64], has_functions: [7, :bool], has_filenames: [8, :bool],
      has_line_numbers: [9, :bool], has_inline_frames: [10, :bool]
    },
    "Line" => { function_id: [1, :uint64], line: [2, :int64], column: [3, :int64] },
    "Location" => {
      id: [1, :uint64], mapping_id: [2, :uint64], address: [3, :uint64], line: [4, [:Line]], is_folded: [5, :bool]
    },
    "Function" => {
      id: [1, :uint64], name: [2, :int64], system_name: [3, :int64], filename: [4, :int64], start_line: [5, :int64]
    }
  }.freeze

  def self.profile(strings)
    {
      sample_type: [1, [:ValueType]], sample: [2, [:Sample]], mapping: [3, [:Mapping]], location: [4, [:Location]],
      function: [5, [:Function]], string_table: [6, [strings]], drop_frames: [7, :int64], keep_frames: [8, :int64],
      time_nanos: [9, :int64], duration_nanos: [10, :int64], period_type: [11, :ValueType], period: [12, :int64],
      comment: [13, [:int64]], default_sample_type: [14, :int64], doc_url: [15, :int64]
    }
  end
  private_class_method :profile

  TEXT = ProtobufSchema.define("pprof.text", PARTS.merge("Profile" => profile(:string)))
  WIRE = ProtobufSchema.define("pprof.wire", PARTS.merge("Profile" => profile(:bytes)))
  Profile = TEXT["Profile"]
  WireProfile = WIRE["Profile"]
end
