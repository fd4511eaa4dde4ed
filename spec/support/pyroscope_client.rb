# frozen_string_literal: true

require_relative "backend_client"

# Reads back from Pyroscope what was pushed to it. Plain Ruby: the JSON form of its queries says all that is needed.
class PyroscopeClient < BackendClient
  # What the server answered in place of a result.
  class Error < StandardError; end

  CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
  WALL = "process_cpu:wall:nanoseconds:cpu:nanoseconds"

  # @return [Boolean]
  def ready?
    Net::HTTP.get_response(URI("#{url}/ready")).is_a?(Net::HTTPOK)
  rescue SystemCallError, IOError, Timeout::Error
    false
  end

  # @return [Array<String>] ids of profile types; with a selector, only of those series
  def profile_types(selector = nil, **times)
    return label_values("__profile_type__", selector, **times) if selector

    query("ProfileTypes", {}, **times).fetch("profileTypes", []).map { |type| type["ID"] }
  end

  # @return [Array<String>]
  def label_names(*selectors, **times) = query("LabelNames", { matchers: selectors }, **times).fetch("names", [])

  # @return [Array<String>]
  def label_values(name, *selectors, **times)
    query("LabelValues", { name:, matchers: selectors }, **times).fetch("names", [])
  end

  # @return [Array<Hash{String => String}>] the labels of each series
  def series(*selectors, names: [], **times)
    query("Series", { matchers: selectors, labelNames: names }, **times).fetch("labelsSet", []).map do |set|
      set.fetch("labels", []).to_h { |pair| [pair["name"], pair["value"]] }
    end
  end

  # @param type [String] a profile type's id
  # @return [PprofProfile]
  def select_merge_profile(type, selector, **times)
    PprofProfile.from_json(query("SelectMergeProfile", { profileTypeID: type, labelSelector: selector }, **times))
  end

  # @return [Integer] the sum of a profile type
  def total(type, selector, **times)
    select_merge_profile(type, selector, **times).samples.sum { |sample| sample.values.first }
  end

  # @return [Hash{String => Array(Integer, Integer)}] method => [self, total], the largest self first
  def top(type, selector, limit: 20, **times)
    profile = select_merge_profile(type, selector, **times)
    profile.samples.empty? ? {} : profile.by_method.first(limit).to_h
  end

  # @return [Hash] the flame graph as the server draws it, its numbers as Integer
  def select_merge_stacktraces(type, selector, **times)
    graph = query("SelectMergeStacktraces", { profileTypeID: type, labelSelector: selector }, **times).fetch("flamegraph", {})
    { names: graph.fetch("names", []), total: graph.fetch("total", 0).to_i, max_self: graph.fetch("maxSelf", 0).to_i,
      levels: graph.fetch("levels", []).map { |level| level.fetch("values", []).map(&:to_i) } }
  end

  # @return [Array<Hash>] {labels:, points: [[time in ms, value]]}
  def select_series(type, selector, step:, group_by: [], **times)
    request = { profileTypeID: type, labelSelector: selector, step:, groupBy: group_by }
    query("SelectSeries", request, **times).fetch("series", []).map do |series|
      { labels: series.fetch("labels", []).to_h { |pair| [pair["name"], pair["value"]] },
        points: series.fetch("points", []).map { |point| [point["timestamp"].to_i, point.fetch("value", 0)] } }
    end
  end

  private

  # Times are inclusive on both sides; by default everything of the last hour and what is dated into the near future.
  def query(procedure, request, from: Time.now - 3600, to: Time.now + 900)
    body = JSON.generate(**request, start: milliseconds(from), end: milliseconds(to))
    answer = Net::HTTP.post(URI("#{url}/querier.v1.QuerierService/#{procedure}"), body,
                            "Content-Type" => "application/json", **@headers)
    raise Error, "#{procedure}: #{answer.code} #{answer.body.to_s[0, 300]}" unless answer.is_a?(Net::HTTPOK)

    JSON.parse(answer.body)
  end

  def milliseconds(time) = (time.to_f * 1000).to_i
end
