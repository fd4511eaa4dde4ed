# frozen_string_literal: true

require_relative "../../spec/support/pyroscope_client"

# The profiles of one service as a Pyroscope server gives them back, since a moment in time. Answers as ProfileFiles does.
class ProfileServer
  Failed = Class.new(StandardError)

  PROFILE_TYPE = "process_cpu:%s:nanoseconds:cpu:nanoseconds"
  HIDDEN_LABELS = /\A__|\Aservice_name\z/ # the server's own, and the one that is asked for

  # The URL may carry a user and a password.
  def initialize(url, service:, since:)
    uri = URI(url)
    headers = uri.userinfo ? { "Authorization" => "Basic #{[URI.decode_uri_component(uri.userinfo)].pack("m0")}" } : {}
    @client = PyroscopeClient.new(uri.tap { uri.userinfo = nil }.to_s, headers:)
    @service = service
    @since = since
    @profiles = {}
  end

  def url = @client.url
  def ready? = ask { @client.ready? }
  def empty? = total("cpu").zero?
  def description = "read back from #{url}"

  # Yields the frames and nanoseconds of each sample of a type ("cpu", "wall") whose labels fit: a value, or :any.
  def each_sample(type, labels = {})
    profile(type, labels).samples.each { |sample| yield sample.stack.map(&:name), sample.values.first }
  end

  def total(type, labels = {}) = profile(type, labels).samples.sum { |sample| sample.values.first }

  def label_names = ask { @client.label_names(selector({}), from: @since).grep_v(HIDDEN_LABELS).sort }
  def label_values(name) = ask { @client.label_values(name, selector({}), from: @since).sort }

  private

  # What was empty is asked for again the next time: the server may have it by then.
  def profile(type, labels)
    @profiles[[type, labels]] ||
      ask { @client.select_merge_profile(format(PROFILE_TYPE, type), selector(labels), from: @since) }
        .tap { |profile| @profiles[[type, labels]] = profile if profile.samples.any? }
  end

  def selector(labels)
    matchers = labels.map { |name, value| value == :any ? %(#{name}=~".+") : "#{name}=#{JSON.generate(value)}" }
    "{#{["service_name=#{JSON.generate(@service)}", *matchers].join(", ")}}"
  end

  def ask
    yield
  rescue PyroscopeClient::Error, SystemCallError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError, JSON::ParserError => e
    raise Failed, "#{url} cannot be read: #{e.message}"
  end
end
