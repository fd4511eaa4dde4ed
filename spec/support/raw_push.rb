# frozen_string_literal: true

require "json"
require "net/http"
require_relative "pyroscope_messages"

# Pushes to Pyroscope without the gem, byte for byte as a test wants it.
class RawPush
  PATH = "/push.v1.PusherService/Push"
  Answer = Struct.new(:status, :content_type, :body, :headers) do
    # @return [String, nil] of an error
    def message = JSON.parse(body)["message"]
    def code = JSON.parse(body)["code"]
  end

  def initialize(url)
    @url = url
  end

  # @param profile [String] pprof, gzipped or not
  # @param labels [Hash, Array] of the series
  # @return [Answer]
  def push(profile, labels, **headers)
    send_body(self.class.request([[labels, profile]]), **headers)
  end

  # @return [Answer] of a request whose body is given
  def send_body(body, path: PATH, verb: :Post, content_type: "application/proto", **headers)
    uri = URI(@url)
    request = Net::HTTP.const_get(verb).new(uri.path + path)
    request.body = body if request.request_body_permitted?
    request["Content-Type"] = content_type
    headers.each { |name, value| request[name.to_s.tr("_", "-")] = value }
    answer = Net::HTTP.start(uri.host, uri.port) { |http| http.request(request) }
    Answer.new(answer.code.to_i, answer["Content-Type"], answer.body.to_s, answer)
  end

  # @param series [Array<Array(labels, String)>]
  # @return [String] an encoded PushRequest
  def self.request(series)
    PyroscopeMessages::PUSH["PushRequest"].encode(message(series))
  end

  # @return [String] the same as JSON
  def self.json_request(series) = PyroscopeMessages::PUSH["PushRequest"].encode_json(message(series))

  def self.message(series)
    push = PyroscopeMessages::PUSH
    push["PushRequest"].new(series: series.map do |labels, profile|
      push["RawProfileSeries"].new(labels: labels.map { |name, value| push["LabelPair"].new(name:, value:) },
                                   samples: [push["RawSample"].new(raw_profile: profile)])
    end)
  end
  private_class_method :message
end
