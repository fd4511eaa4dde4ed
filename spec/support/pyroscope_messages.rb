# frozen_string_literal: true

require_relative "protobuf_schema"

# The messages of Pyroscope's push and querier services.
module PyroscopeMessages
  PUSH = ProtobufSchema.define(
    "push.v1",
    "LabelPair" => { name: [1, :string], value: [2, :string] },
    "RawSample" => { raw_profile: [1, :bytes], ID: [2, :string] },
    "RawProfileSeries" => { labels: [1, [:LabelPair]], samples: [2, [:RawSample]] },
    "PushRequest" => { series: [1, [:RawProfileSeries]] }
  )

  SELECTION = { profile_typeID: [1, :string], label_selector: [2, :string], start: [3, :int64], end: [4, :int64] }.freeze

  QUERIER = ProtobufSchema.define(
    "querier.v1",
    "LabelPair" => { name: [1, :string], value: [2, :string] },
    "Labels" => { labels: [1, [:LabelPair]] },
    "ProfileType" => {
      ID: [1, :string], name: [2, :string], sample_type: [4, :string], sample_unit: [5, :string],
      period_type: [6, :string], period_unit: [7, :string]
    },
    "ProfileTypesRequest" => { start: [1, :int64], end: [2, :int64] },
    "ProfileTypesResponse" => { profile_types: [1, [:ProfileType]] },
    "LabelNamesRequest" => { matchers: [1, [:string]], start: [2, :int64], end: [3, :int64] },
    "LabelNamesResponse" => { names: [1, [:string]] },
    "LabelValuesRequest" => { name: [1, :string], matchers: [2, [:string]], start: [3, :int64], end: [4, :int64] },
    "LabelValuesResponse" => { names: [1, [:string]] },
    "SeriesRequest" => { matchers: [1, [:string]], label_names: [2, [:string]], start: [3, :int64], end: [4, :int64] },
    "SeriesResponse" => { labels_set: [2, [:Labels]] },
    "SelectMergeStacktracesRequest" => { **SELECTION, max_nodes: [5, :int64] },
    "Level" => { values: [1, [:int64]] },
    "FlameGraph" => { names: [1, [:string]], levels: [2, [:Level]], total: [3, :int64], max_self: [4, :int64] },
    "SelectMergeStacktracesResponse" => { flamegraph: [1, :FlameGraph] },
    "SelectMergeProfileRequest" => { **SELECTION, max_nodes: [5, :int64] },
    "SelectSeriesRequest" => { **SELECTION, group_by: [5, [:string]], step: [6, :double] },
    "Point" => { value: [1, :double], timestamp: [2, :int64] },
    "TimeSeries" => { labels: [1, [:LabelPair]], points: [2, [:Point]] },
    "SelectSeriesResponse" => { series: [1, [:TimeSeries]] }
  )
end
