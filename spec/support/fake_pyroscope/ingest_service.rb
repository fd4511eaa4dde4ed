# frozen_string_literal: true

require "uri"
require_relative "push_service"

class FakePyroscope
  # The older way in: one profile as the body, all else in the address.
  class IngestService
    NAME = /\A(?<service>[^{}\s,=]+)(?:\{(?<labels>.*)\})?\z/
    LABEL_NAME = /\A[a-zA-Z0-9_.]+\z/
    REWRITING = %w[rbspy pyspy scripting].freeze

    # @param push [PushService] which stores what came this way, too
    def initialize(push)
      @push = push
    end

    # @param query [String] of the address
    # @raise [Refusal]
    def call(query, body, headers, fault: nil)
      given = URI.decode_www_form(query.to_s).to_h
      service, labels = parse(given["name"].to_s)
      raise Refusal.new("unprocessable", "only format=pprof is known here") unless given["format"] == "pprof"
      return if body.empty? # lost, and nobody is told

      series = { "__name__" => name_of(decode(body)), "service_name" => service, "__delta__" => "false", **labels }
      refusal = @push.take(series.to_a, body, headers, fault:, violations: violations(given))
      raise refusal if refusal
    end

    private

    def parse(name)
      match = NAME.match(name) or raise Refusal.new("invalid_argument", "invalid name #{name.inspect}")
      labels = match[:labels].to_s.split(",").to_h { |pair| pair.split("=", 2).then { |key, value| [key, value.to_s] } }
      wrong = labels.keys.grep_v(LABEL_NAME)
      raise Refusal.new("invalid_argument", "invalid label name #{wrong.first.inspect}") if wrong.any?

      [match[:service], labels]
    end

    def decode(body)
      PprofMessages::WireProfile.decode(body.start_with?("\x1F\x8B".b) ? Zlib.gunzip(body) : body)
    rescue Google::Protobuf::ParseError, Zlib::Error => e
      raise Refusal.new("unprocessable", e.message)
    end

    # A sample type called wall gives its name to the whole profile.
    def name_of(profile)
      profile.sample_type.any? { |type| profile.string_table[type.type] == "wall" } ? "wall" : "process_cpu"
    end

    def violations(given)
      from, till = given.values_at("from", "until").map(&:to_i)
      [("spyName=#{given["spyName"]} has names rewritten" if REWRITING.include?(given["spyName"])),
       ("no time in the address" unless from.positive? && till > from)].compact
    end
  end
end
