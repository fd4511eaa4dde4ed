# frozen_string_literal: true

require_relative "../pprof_messages"
require_relative "../pyroscope_messages"
require_relative "label_rules"
require_relative "split_profile"
require_relative "violations"

class FakePyroscope
  # The writing half: decodes, checks and stores, in the order of the real server, which is seen from outside in what
  # spends the rate bucket and in which of two errors is named.
  class PushService
    # @yieldparam received [Received] for every profile
    def initialize(storage:, bucket:, label_rules:, &record)
      @storage = storage
      @bucket = bucket
      @label_rules = label_rules
      @record = record
    end

    # @param body [String] a PushRequest
    # @param fault [Refusal, nil] what is answered in place of storing
    # @raise [Refusal] of the first profile that was refused; the good ones of the request are stored all the same
    def call(body, headers, json:, fault: nil)
      request = decode(body, json)
      profiles = request.series.flat_map { |series| series.samples.map { |sample| [series, sample.raw_profile] } }
      raise Refusal.new("invalid_argument", "no profiles received") if profiles.empty?

      more = ["#{request.series.size} series in one request"] if request.series.size != 1
      refusals = profiles.filter_map do |series, raw|
        take(series.labels.map { |pair| [pair.name, pair.value] }, raw, headers, fault:, violations: more.to_a)
      end
      raise refusals.first if refusals.any?
    end

    # @param labels [Array<Array(String, String)>] of the series
    # @param raw [String] the profile
    # @param violations [Array<String>] of the request
    # @return [Refusal, nil]
    def take(labels, raw, headers, fault: nil, violations: [])
      received = FakeBackend::Received.new(at: Time.now, headers:, labels:, raw:, status: 200, violations:)
      refusal = refused { fault ? raise(fault) : nil } || refused { store(received) }
      received.status, received.message = refusal.status, refusal.message if refusal
      @record.call(received)
      refusal
    end

    private

    def decode(body, json)
      message = PyroscopeMessages::PUSH["PushRequest"]
      json ? message.decode_json(body, ignore_unknown_fields: true) : message.decode(body)
    rescue Google::Protobuf::ParseError => e
      raise Refusal.new("invalid_argument", "unmarshal message: #{e.message}")
    end

    def refused
      yield
      nil
    rescue Refusal => e
      e
    end

    def store(received)
      decode_profile(received)
      received.violations += Violations.of(received.profile, labels: received.labels, bytes: received.bytes, headers: received.headers)
      labels = series_labels(received.labels)
      @bucket.take(received.bytes + labels.flatten.sum(&:bytesize))
      now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      ProfileRules.check(received.profile, now / 1_000_000)
      split = SplitProfile.new(received.profile, now)
      @storage.add(split, checked_groups(split, labels))
    end

    def decode_profile(received)
      plain = gunzip(received.raw)
      received.bytes = plain.bytesize
      too_large = "uncompressed profile payload size exceeds limit of 4.2 MB"
      raise Refusal.new("invalid_argument", too_large) if plain.bytesize > ProfileRules::BYTES

      received.profile = PprofMessages::WireProfile.decode(plain)
    rescue Google::Protobuf::ParseError, Zlib::Error => e
      raise Refusal.new("unknown", e.message)
    end

    def gunzip(raw) = raw.start_with?("\x1F\x8B".b) ? Zlib.gunzip(raw) : raw

    def series_labels(labels)
      service = labels.find { |name, _| name == "service_name" }
      service ? labels : [*labels, %w[service_name unknown_service]]
    end

    # A label of the series hides one of a sample; without a value it is as absent.
    def checked_groups(split, labels)
      present = labels.reject { |_, value| value.empty? }
      groups = split.groups.map do |texts, rows|
        own = present.map(&:first)
        [@label_rules.check(present + texts.reject { |name, _| own.include?(name) }.to_a), rows]
      end
      groups.group_by(&:first).transform_values { |same| same.flat_map(&:last) }.to_a
    end
  end
end
