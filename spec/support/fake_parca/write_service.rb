# frozen_string_literal: true

require "zlib"
require_relative "../fake_backend/profile_violations"
require_relative "../fake_backend/received"
require_relative "../parca_messages"
require_relative "../pprof_messages"
require_relative "profile_rules"

class FakeParca
  # The writing half: decodes, checks and stores. All of a request is taken, or nothing.
  class WriteService
    # @yieldparam received [FakeBackend::Received] for every profile
    def initialize(storage:, max_bytes:, &record)
      @storage = storage
      @max_bytes = max_bytes
      @record = record
    end

    # @param body [String] a WriteRawRequest as JSON
    # @param fault [Refusal, nil] what is answered in place of storing
    # @raise [Refusal]
    # @raise [Crash]
    def call(body, headers, fault: nil)
      request = decode(body)
      profiles = request.series.flat_map { |series| series.samples.map { |sample| [series, received(series, sample, headers)] } }
      conclude(profiles.map(&:last)) do
        raise fault if fault

        checked = profiles.map { |series, one| [labels(series), check(one, request)] }
        checked.each { |series_labels, profile| @storage.add(series_labels, profile) }
      end
    end

    private

    # A Content-Encoding is not heard of: what is compressed is no JSON.
    def decode(body)
      request = ParcaMessages::WRITE["WriteRawRequest"].decode_json(body.dup.force_encoding(Encoding::UTF_8), ignore_unknown_fields: true)
      bytes = ParcaMessages::WRITE["WriteRawRequest"].encode(request).bytesize
      too_large = "grpc: received message larger than max (#{bytes} vs. #{@max_bytes})"
      raise Refusal.new("resource_exhausted", too_large) if bytes > @max_bytes

      request
    rescue Google::Protobuf::ParseError, EncodingError => e
      raise Refusal.new("invalid_argument", e.message)
    end

    def received(series, sample, headers)
      labels = series.labels&.labels.to_a.map { |pair| [pair.name, pair.value] }
      FakeBackend::Received.new(at: Time.now, headers:, labels:, raw: sample.raw_profile, status: 200, violations: [])
    end

    # What came is remembered with what became of it.
    def conclude(received)
      yield
    rescue Refusal => e
      received.each { |one| one.status, one.message = e.status, e.message }
      raise
    rescue Crash => e
      received.each { |one| one.status, one.message = 0, e.message }
      raise
    ensure
      received.each(&@record)
    end

    def labels(series)
      raise Crash, "a series without labels" unless series.labels

      pairs = series.labels.labels.map { |pair| [pair.name, pair.value] }
      twice = pairs.map(&:first).tally.key(2)
      raise Refusal.new("invalid_argument", "duplicate label name: #{twice}") if twice
      raise Refusal.new("invalid_argument", "missing __name__ label") if pairs.to_h["__name__"].to_s.empty?

      pairs.to_h
    end

    def check(received, request)
      raise Crash, "an empty profile" if received.raw.empty?

      received.profile = decode_profile(received)
      received.violations = violations(received, request)
      ProfileRules.check(received.profile)
      received.profile
    end

    def decode_profile(received)
      plain = received.raw.start_with?("\x1F\x8B".b) ? Zlib.gunzip(received.raw) : received.raw
      received.bytes = plain.bytesize
      PprofMessages::WireProfile.decode(plain)
    rescue Google::Protobuf::ParseError => e
      raise Refusal.new("invalid_argument", "failed to parse profile: #{e.message}")
    rescue Zlib::Error => e
      raise Refusal.new("unknown", "decompressing profile: #{e.message}")
    end

    def violations(received, request)
      FakeBackend::ProfileViolations.of(received.profile) + FakeBackend::ProfileViolations.of_names(received.labels) + [
        ("two series of the same labels in one request" if twice?(request.series)),
        ("labels of samples, which are lost here" if received.profile.sample.any? { |sample| sample.label.any? }),
        ("normalized is not set" unless request.normalized),
        ("no service_name" unless received.labels.to_h.key?("service_name"))
      ].compact
    end

    def twice?(series) = series.map { |one| one.labels&.labels.to_a.map(&:to_h).sort_by { |pair| pair[:name] } }.tally.values.any? { |count| count > 1 }
  end
end
