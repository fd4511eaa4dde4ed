# frozen_string_literal: true

require "json"
require_relative "raw_push"

# Writes to Parca without the gem, byte for byte as a test wants it.
class RawWrite
  PATH = "/api/profiles/writeraw"

  def initialize(url)
    @http = RawPush.new(url)
  end

  # @param profile [String] pprof, gzipped or not
  # @param labels [Hash, Array, nil] of the series; nil leaves them out
  # @return [RawPush::Answer]
  def write(profile, labels, **headers) = send_body(self.class.request([[labels, profile]]), **headers)

  # @return [RawPush::Answer] of a request whose body is given
  def send_body(body, **) = @http.send_body(body, path: PATH, content_type: "application/json", **)

  # @param series [Array<Array(labels, String)>]
  # @return [String] a WriteRawRequest
  def self.request(series)
    JSON.generate(normalized: true, series: series.map do |labels, profile|
      set = labels && { labels: { labels: labels.map { |name, value| { name:, value: } } } }
      { **set.to_h, samples: [{ rawProfile: [profile].pack("m0") }] }
    end)
  end
end
