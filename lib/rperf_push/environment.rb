# frozen_string_literal: true

module RperfPush
  # The options that the environment holds, as text, each with the name of the variable it came from.
  #
  # `RPERF_PUSH_<OPTION>` stands for every option. What people already set for Pyroscope's own client or for OpenTelemetry
  # is taken where it is missing, in this order. An empty variable counts as not set.
  class Environment
    PYROSCOPE = {
      "server_address" => "PYROSCOPE_SERVER_ADDRESS",
      "application_name" => "PYROSCOPE_APPLICATION_NAME",
      "basic_auth_username" => "PYROSCOPE_BASIC_AUTH_USER",
      "basic_auth_password" => "PYROSCOPE_BASIC_AUTH_PASSWORD",
      "auth_token" => "PYROSCOPE_AUTH_TOKEN",
      "tenant_id" => "PYROSCOPE_TENANT_ID",
      "tags" => "PYROSCOPE_LABELS",
      "http_headers" => "PYROSCOPE_HTTP_HEADERS",
      "upload_interval" => "PYROSCOPE_UPLOAD_INTERVAL"
    }.freeze

    SECONDS_PER_UNIT = { "h" => 3600.0, "m" => 60.0, "s" => 1.0, "ms" => 1e-3, "us" => 1e-6, "µs" => 1e-6, "ns" => 1e-9 }.freeze
    DURATION_PART = /(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)/
    DURATION = /\A(?:#{DURATION_PART})+\z/

    # @param variables [#[]] ENV or a Hash
    def initialize(variables)
      @variables = variables
    end

    # @return [Hash{String => Array(String, String)}] option => [text, where it came from]
    def texts
      [program_name, opentelemetry, pyroscope, own].inject(:merge)
    end

    private

    def own
      pick(Configuration::OPTIONS.to_h { |option| [option, "RPERF_PUSH_#{option.upcase}"] })
    end

    def pyroscope
      texts = pick(PYROSCOPE)
      interval, = texts["upload_interval"]
      texts["upload_interval"][0] = seconds(interval) if interval&.valid_encoding? && interval.match?(DURATION)
      texts
    end

    # Resource attributes are written for other tools: what is no legal label name is made one, what is malformed is left.
    def opentelemetry
      tags = resource_attributes
      name = tags.delete("service_name")
      texts = {}
      texts["tags"] = [json(tags), "OTEL_RESOURCE_ATTRIBUTES"] if tags.any?
      texts["application_name"] = [name, "OTEL_RESOURCE_ATTRIBUTES"] if name
      texts.merge(pick("application_name" => "OTEL_SERVICE_NAME"))
    end

    def resource_attributes
      text("OTEL_RESOURCE_ATTRIBUTES").to_s.b.split(",").each_with_object({}) do |pair, tags|
        key, value = pair.split("=", 2).map(&:strip)
        next if key.to_s.empty? || value.to_s.empty?

        key = percent_decoded(key).gsub(/[^A-Za-z0-9_]/, "_").sub(/\A(?=\d)/, "_")
        tags[key] = percent_decoded(value) unless key.start_with?("__")
      end
    end

    def program_name
      title = $PROGRAM_NAME.b
      # A server that rewrites its title ("puma: cluster worker 0: 42 [shop]") still begins with its name.
      title = title.split.first.to_s.delete_suffix(":") unless File.exist?(title)
      name = utf8(File.basename(title, ".rb"))
      { "application_name" => [name.empty? || name.start_with?("-") ? "ruby" : name, "the program's name"] }
    end

    # option => variable to option => [text, variable], for the variables that are set
    def pick(names)
      names.filter_map { |option, variable| [option, [text(variable), variable]] if text(variable) }.to_h
    end

    def text(variable)
      value = @variables[variable]
      # ENV's encoding is the locale's, which in a container is often none.
      value.dup.force_encoding(Encoding::UTF_8) unless value.nil? || value.b.strip.empty?
    end

    # "1m30s", as Go writes it
    def seconds(duration)
      total = duration.scan(DURATION_PART).sum { |number, unit| number.to_f * SECONDS_PER_UNIT.fetch(unit) }
      format("%.9f", total).sub(/\.?0+\z/, "")
    end

    def percent_decoded(text)
      utf8(text.b.gsub(/%(\h\h)/) { $1.hex.chr })
    end

    def utf8(bytes)
      bytes.dup.force_encoding(Encoding::UTF_8).scrub("?")
    end

    # Values may hold commas, which "k=v,k=v" could not carry.
    def json(pairs)
      require "json"
      JSON.generate(pairs)
    end
  end
end
