# frozen_string_literal: true

require "json"
require "net/http"
require_relative "pprof_reader"

# The profiles of one service as a Pyroscope server gives them back, since a moment in time. Answers as ProfileFiles does.
class ProfileServer
  Failed = Class.new(StandardError)

  PROFILE_TYPE = "process_cpu:%s:nanoseconds:cpu:nanoseconds"
  SERVICE = "/querier.v1.QuerierService/"
  HIDDEN_LABELS = /\A__|\Aservice_name\z/ # the server's own, and the one that is asked for

  def initialize(url, service:, since:)
    @url = URI(url)
    @service = service
    @since = since
    @profiles = {}
  end

  def ready? = request(Net::HTTP::Get.new(path("/ready"))).is_a?(Net::HTTPSuccess)
  def empty? = total("cpu").zero?
  def description = "read back from the server"

  def each_sample(type, labels = {})
    profile(type, labels).samples.each { |sample| yield sample.frames, sample.values.first }
  end

  def total(type, labels = {}) = profile(type, labels).samples.sum { |sample| sample.values.first }

  def label_names = query("LabelNames", matchers: [selector({})]).fetch("names", []).grep_v(HIDDEN_LABELS).sort
  def label_values(name) = query("LabelValues", name:, matchers: [selector({})]).fetch("names", []).sort

  private

  # A merged profile has one sample type, the one that was asked for. An empty one is asked for again next time.
  def profile(type, labels)
    @profiles[[type, labels]] ||
      read_profile(type, labels).tap { |profile| @profiles[[type, labels]] = profile unless profile.samples.empty? }
  end

  def read_profile(type, labels)
    PprofReader.new(post("SelectMergeProfile", "application/proto", merge_request(format(PROFILE_TYPE, type), selector(labels))))
  end

  # Asked in protocol buffers, the server answers with a plain pprof.
  def merge_request(profile_type, selector)
    texts = [profile_type, selector].each.with_index(1).map { |text, field| [(field << 3) | 2].pack("C") + varint(text.bytesize) + text.b }
    times = [milliseconds(@since), milliseconds(Time.now)].each.with_index(3).map { |time, field| [field << 3].pack("C") + varint(time) }
    (texts + times).join
  end

  def varint(number)
    bytes = []
    while number > 0x7f
      bytes << ((number & 0x7f) | 0x80)
      number >>= 7
    end
    bytes.push(number).pack("C*")
  end

  def query(method, **document)
    JSON.parse(post(method, "application/json",
                    JSON.generate(document.merge(start: milliseconds(@since), end: milliseconds(Time.now)))))
  end

  def post(method, type, body)
    request = Net::HTTP::Post.new(path(SERVICE + method), "content-type" => type)
    request.body = body
    answer = request(request)
    return answer.body if answer.is_a?(Net::HTTPSuccess)

    raise Failed, "#{@url.host}:#{@url.port} answered #{answer.code} to #{method}: #{answer.body.to_s[0, 200]}"
  end

  def request(request)
    request.basic_auth(@url.user, URI.decode_uri_component(@url.password.to_s)) if @url.user
    Net::HTTP.start(@url.host, @url.port, use_ssl: @url.scheme == "https", open_timeout: 5, read_timeout: 30) { |http| http.request(request) }
  rescue SystemCallError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError => e
    raise Failed, "#{@url.host}:#{@url.port} cannot be asked: #{e.message}"
  end

  def path(rest) = @url.path.chomp("/") + rest
  def milliseconds(time) = (time.to_f * 1000).to_i

  def selector(labels)
    matchers = labels.map { |name, value| value == :any ? %(#{name}=~".+") : "#{name}=#{JSON.generate(value)}" }
    "{#{[%(service_name=#{JSON.generate(@service)}), *matchers].join(",")}}"
  end
end
