# frozen_string_literal: true

require_relative "protobuf_schema"

# The messages of Parca's profile store, for their JSON form.
module ParcaMessages
  WRITE = ProtobufSchema.define(
    "parca.profilestore",
    "Label" => { name: [1, :string], value: [2, :string] },
    "LabelSet" => { labels: [1, [:Label]] },
    "RawSample" => { raw_profile: [1, :bytes] },
    "RawProfileSeries" => { labels: [1, :LabelSet], samples: [2, [:RawSample]] },
    "WriteRawRequest" => { series: [2, [:RawProfileSeries]], normalized: [3, :bool] }
  )
end
