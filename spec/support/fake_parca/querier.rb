# frozen_string_literal: true

require "time"
require "uri"
require "zlib"
require_relative "../fake_backend/merged_profile"
require_relative "../fake_backend/selector"

class FakeParca
  # The reading half, from the path and query of a GET to what the answer's JSON says.
  class Querier
    VALUES = %r{\A/labels/([^/]+)/values\z}

    def initialize(storage)
      @storage = storage
    end

    # @param path [String] below /api/profiles
    # @param query [String, nil]
    # @return [Hash]
    # @raise [Refusal]
    def call(path, query)
      given = URI.decode_www_form(query.to_s).to_h
      case path
      when "/types" then { types: entries(nil, "{}").map(&:type).uniq.sort.map { |type| type_of(type) } }
      when "/labels" then { labelNames: in_time(given).flat_map { |entry| entry.labels.keys }.uniq.sort, warnings: [] }
      when VALUES then { labelValues: values(URI.decode_uri_component(path[VALUES, 1]), given), warnings: [] }
      when "/query" then query(given)
      else raise Refusal.new("not_found", "Not Found")
      end
    end

    private

    def entries(range, selector) = @storage.select(range, FakeBackend::Selector.new(selector))

    def in_time(given) = entries(range(given["start"], given["end"]), "{}")

    def values(name, given) = in_time(given).filter_map { |entry| entry.labels[name] }.uniq.sort

    def range(from, to)
      return unless from && to

      (time(from) * 1000).floor..(time(to) * 1000).ceil
    end

    def time(text)
      Time.iso8601(text).to_r
    rescue ArgumentError => e
      raise Refusal.new("invalid_argument", e.message)
    end

    def type_of(id)
      name, sample_type, sample_unit, period_type, period_unit, delta = id.split(":")
      { name:, sampleType: sample_type, sampleUnit: sample_unit, periodType: period_type, periodUnit: period_unit, delta: !delta.nil? }
    end

    # The one kind of query that is asked here: everything of a type and a time, merged, as pprof.
    def query(given)
      mode, report, text, from, to = given.values_at("mode", "report_type", "merge.query", "merge.start", "merge.end")
      wanted = mode == "MODE_MERGE" && report == "REPORT_TYPE_PPROF" && text && from && to
      raise Refusal.new("invalid_argument", "merge.query, merge.start and merge.end are needed") unless wanted

      type = text[/\A[^{]+/].to_s
      raise Refusal.new("invalid_argument", "profile-type selection must be of the form ...") unless type.count(":").between?(4, 5)

      merged(type, entries(range(from, to), text.delete_prefix(type)).select { |entry| entry.type == type }, time(from))
    end

    def merged(type, entries, from)
      raise Refusal.new("not_found", "could not find profile at requested time and selectors") if entries.empty?

      stacks = entries.each_with_object(Hash.new(0)) { |entry, sums| entry.stacks.each { |stack, value| sums[stack] += value } }
      message = FakeBackend::MergedProfile.new(stacks, type.delete_suffix(":delta"), (from * 1000).to_i).message
      { pprof: [Zlib.gzip(PprofMessages::Profile.encode(message))].pack("m0"), total: stacks.values.sum.to_s, filtered: "0" }
    end
  end
end
