# frozen_string_literal: true

require_relative "../fake_backend/merged_profile"
require_relative "../fake_backend/selector"
require_relative "../pyroscope_messages"
require_relative "flame_graph"

class FakePyroscope
  # The reading half: one method for each procedure, from request message to answer message.
  class Querier
    PROCEDURES = {
      "ProfileTypes" => :profile_types, "LabelNames" => :label_names, "LabelValues" => :label_values,
      "Series" => :series, "SelectMergeStacktraces" => :select_merge_stacktraces,
      "SelectMergeProfile" => :select_merge_profile, "SelectSeries" => :select_series
    }.freeze
    LISTED = /\A[a-zA-Z_][a-zA-Z0-9_]*\z/

    def initialize(storage)
      @storage = storage
    end

    # @param procedure [String] a key of PROCEDURES
    # @param json [Boolean] of request and answer
    # @return [String] the encoded answer
    def call(procedure, body, json:)
      request = decode(PyroscopeMessages::QUERIER["#{procedure}Request"], body, json)
      raise Refusal.new("invalid_argument", "missing time range in the query") if request.start.zero? || request.end.zero?
      raise Refusal.new("invalid_argument", "query start time is after end time") if request.start > request.end

      answer = send(PROCEDURES.fetch(procedure), request)
      json ? answer.class.encode_json(answer) : answer.class.encode(answer)
    end

    private

    def decode(message, body, json)
      json ? message.decode_json(body, ignore_unknown_fields: true) : message.decode(body)
    rescue Google::Protobuf::ParseError => e
      raise Refusal.new("invalid_argument", "unmarshal message: #{e.message}")
    end

    def message(name, **fields) = PyroscopeMessages::QUERIER[name].new(**fields)

    def pairs(labels) = labels.map { |name, value| message("LabelPair", name:, value:) }

    def entries(request, *selectors) = @storage.select(request.start..request.end, FakeBackend::Selector.new(*selectors))

    def profile_types(request)
      types = entries(request).map(&:type).uniq.sort.map do |id|
        name, sample_type, sample_unit, period_type, period_unit = id.split(":")
        message("ProfileType", ID: id, name:, sample_type:, sample_unit:, period_type:, period_unit:)
      end
      message("ProfileTypesResponse", profile_types: types)
    end

    def label_names(request)
      names = entries(request, *request.matchers).flat_map { |entry| entry.labels.keys }.uniq
      message("LabelNamesResponse", names: names.grep(LISTED).sort)
    end

    def label_values(request)
      values = entries(request, *request.matchers).filter_map { |entry| entry.labels[request.name] }
      message("LabelValuesResponse", names: values.uniq.sort)
    end

    def series(request)
      wanted = request.label_names.to_a
      sets = entries(request, *request.matchers).map do |entry|
        listed = entry.labels.select { |name, _| name.match?(LISTED) }
        (wanted.empty? ? listed : listed.slice(*wanted)).sort
      end
      message("SeriesResponse", labels_set: sets.uniq.sort.map { |set| message("Labels", labels: pairs(set)) })
    end

    def select_merge_stacktraces(request)
      graph = FlameGraph.new(merged_stacks(request)).to_h
      graph[:levels].map! { |values| message("Level", values:) }
      message("SelectMergeStacktracesResponse", flamegraph: message("FlameGraph", **graph))
    end

    def select_merge_profile(request)
      stacks = merged_stacks(request)
      return PprofMessages::Profile.new if stacks.empty?

      FakeBackend::MergedProfile.new(stacks, request.profile_typeID, request.start).message
    end

    def select_series(request)
      step = (request.step * 1000).to_i
      raise Refusal.new("invalid_argument", "step must be positive") unless step.positive?

      groups = selected(request).group_by { |entry| entry.labels.slice(*request.group_by) }
      message("SelectSeriesResponse", series: groups.map do |labels, entries|
        message("TimeSeries", labels: pairs(labels.sort), points: points(entries, request, step))
      end)
    end

    def points(entries, request, step)
      by_step = entries.group_by { |entry| request.start + (((entry.time_ms - request.start) / step.to_f).ceil * step) }
      by_step.sort.map do |timestamp, inside|
        message("Point", timestamp:, value: inside.sum { |entry| entry.stacks.values.sum }.to_f)
      end
    end

    def selected(request)
      type = request.profile_typeID
      raise Refusal.new("invalid_argument", "invalid profile type #{type.inspect}") unless type.count(":") == 4

      entries(request, request.label_selector).select { |entry| entry.type == type }
    end

    # Samples without a location are kept and never shown.
    def merged_stacks(request)
      selected(request).each_with_object(Hash.new(0)) do |entry, sums|
        entry.stacks.each { |stack, value| sums[stack] += value unless stack.empty? }
      end
    end
  end
end
