# frozen_string_literal: true

require "time"
require_relative "backend_client"

# Reads back from Parca what was written to it.
class ParcaClient < BackendClient
  # What the server answered in place of a result.
  class Error < StandardError
    attr_reader :status

    def initialize(path, answer)
      @status = answer.code.to_i
      super("#{path}: #{answer.code} #{answer.body.to_s[0, 300]}")
    end
  end

  CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
  WALL = "process_cpu:wall:nanoseconds:cpu:nanoseconds:delta"

  # @return [Boolean]
  def ready?
    profile_types && true
  rescue SystemCallError, IOError, Timeout::Error, Error
    false
  end

  # @return [Array<String>] ids of profile types
  def profile_types
    get("/types").fetch("types", []).map do |type|
      names = type.values_at("name", "sampleType", "sampleUnit", "periodType", "periodUnit")
      [*names, ("delta" if type["delta"])].compact.join(":")
    end
  end

  # @return [Array<String>]
  def label_names(**times) = get("/labels", **times_of(**times)).fetch("labelNames", [])

  # @return [Array<String>]
  def label_values(name, **times)
    get("/labels/#{URI.encode_uri_component(name)}/values", **times_of(**times)).fetch("labelValues", [])
  end

  # @param type [String] a profile type's id
  # @return [PprofProfile, nil] nil if there is none
  def merge_profile(type, selector, **times)
    start, finish = times_of(**times).values_at("start", "end")
    answer = get("/query", "mode" => "MODE_MERGE", "report_type" => "REPORT_TYPE_PPROF", "merge.query" => type + selector,
                           "merge.start" => start, "merge.end" => finish)
    PprofProfile.from_bytes(answer.fetch("pprof").unpack1("m"))
  rescue Error => e
    raise unless e.status == 404
  end

  # @return [Integer] the sum of a profile type
  def total(type, selector, **times)
    merge_profile(type, selector, **times)&.samples.to_a.sum { |sample| sample.values.first }
  end

  private

  # By default everything of the last hour and what is dated into the near future.
  def times_of(from: Time.now - 3600, to: Time.now + 900)
    { "start" => from.utc.iso8601(3), "end" => to.utc.iso8601(3) }
  end

  def get(path, **query)
    uri = URI("#{url}/api/profiles#{path}")
    uri.query = URI.encode_www_form(query) unless query.empty?
    answer = Net::HTTP.get_response(uri, @headers)
    raise Error.new(path, answer) unless answer.is_a?(Net::HTTPOK)

    JSON.parse(answer.body)
  end
end
