# frozen_string_literal: true

require_relative "../base/json_text"
require_relative "../base/printable"

module RperfPush
  # The options from environment variables, as text, each with the name of its variable.
  #
  # Every option has the variable `RPERF_PUSH_<OPTION>`. If it is not set, the variables of Pyroscope's client apply, then
  # those of OpenTelemetry. An empty variable counts as unset.
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

    PREFIX = "RPERF_PUSH_"
    # What the environment says beside the options.
    OTHERS = %w[SERVICE_GIT_REF SERVICE_REPOSITORY SERVICE_ROOT_PATH GIT_DIRTY TMPDIR].freeze
    # What commands and sessions tell the programs that they start.
    TOLD = /\A(?:SESSION|INHERITED|CALLS|TESTING)(?:_|\z)/

    PROGRAM_NAME = "the program's name"

    SECONDS_PER_UNIT = { "h" => 3600.0, "m" => 60.0, "s" => 1.0, "ms" => 1e-3, "us" => 1e-6, "µs" => 1e-6, "ns" => 1e-9 }.freeze
    DURATION_PART = /(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)/
    DURATION = /\A(?:#{DURATION_PART})+\z/

    # @param variables [#[]] ENV or a Hash
    def initialize(variables)
      @variables = variables
    end

    # @return [Hash{String => Array(String, String)}] option => [text, name of the variable]
    def texts
      [program_name, opentelemetry, pyroscope, own].inject(:merge)
    end

    # @return [Array<String>] a line for each variable that looks like one of ours, and that nothing reads
    def misspelt
      names = @variables.keys.filter_map { |name| name.b.delete_prefix(PREFIX) if name.b.start_with?(PREFIX) }
      known = Configuration::OPTIONS.map(&:upcase) + OTHERS
      names.reject { |name| known.include?(name) || name.match?(TOLD) }.sort.map do |name|
        near = Native.option_meant_by(name.downcase)
        "#{PREFIX}#{Printable.line(name)} is no setting#{" (did you mean #{PREFIX}#{near.upcase}?)" if near}"
      end
    end

    private

    def own
      pick(Configuration::OPTIONS.to_h { |option| [option, "#{PREFIX}#{option.upcase}"] })
    end

    def pyroscope
      texts = pick(PYROSCOPE)
      interval, = texts["upload_interval"]
      texts["upload_interval"][0] = seconds(interval) if interval&.valid_encoding? && interval.match?(DURATION)
      texts
    end

    # Resource attributes are written for other tools, so illegal label names are made legal, and malformed parts are ignored.
    def opentelemetry
      tags = resource_attributes
      name = tags.delete("service_name")
      texts = {}
      # Values may contain commas, which "k=v,k=v" could not express.
      texts["tags"] = [JSONText.of(tags), "OTEL_RESOURCE_ATTRIBUTES"] if tags.any?
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
      title = (bundled_program || $PROGRAM_NAME).b
      # A title that a server rewrote ("puma: cluster worker 0: 42 [shop]") still begins with the server's name.
      title = title.split.first.to_s.delete_suffix(":") unless File.exist?(title)
      name = utf8(File.basename(title, ".rb"))
      { "application_name" => [name.empty? || name.start_with?("-") ? "ruby" : name, PROGRAM_NAME] }
    end

    # What `bundle exec` is about to load, while this is still Bundler itself: that is where `rperf-push run` starts.
    def bundled_program
      return unless %w[bundle bundler].include?(File.basename($PROGRAM_NAME)) && ARGV.first == "exec"

      ARGV.drop(1).find { |argument| !argument.start_with?("-") }
    end

    # option => variable to option => [text, variable], for the variables that are set
    def pick(names)
      names.filter_map { |option, variable| [option, [text(variable), variable]] if text(variable) }.to_h
    end

    def text(variable)
      value = @variables[variable]
      # ENV has the encoding of the locale, and a container often has no locale.
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
  end
end
