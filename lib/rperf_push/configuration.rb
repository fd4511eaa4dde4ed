# frozen_string_literal: true

require_relative "line_logger"

module RperfPush
  # What the block of `configure` is given: one writer and one reader for every option.
  #
  # It only remembers. Types, limits and what goes together are judged by the core, all options at once, so that one
  # answer names everything that is wrong. config/initializers/rperf_push.rb shows every option with its default.
  #
  # A nil counts as not written, so that `config.tenant_id = ENV["TENANT"]` does what it looks like.
  class Configuration
    OPTIONS = %w[
      application_name server_address backend directory directory_max_files directory_max_bytes
      tags report_hostname report_pid
      mode frequency engine
      upload_interval upload_timeout shutdown_timeout
      basic_auth_username basic_auth_password auth_token tenant_id http_headers
      tls_ca_file tls_client_cert tls_client_key tls_verify proxy
      queue_max_bytes spool_directory spool_max_bytes resend_unconfirmed
      overhead_limit max_label_values label_names label_deny
      vm_state_frames lines enabled
    ].freeze

    # What `config.tags[:env] = "production"` starts from.
    CONTAINERS = {
      "tags" => {},
      "http_headers" => {},
      "label_names" => { "%GVL" => "gvl_state", "%GC" => "gc_phase", "%pid" => "pid" },
      "label_deny" => []
    }.freeze

    # What other profilers call it.
    NAMES_ELSEWHERE = {
      "app_name" => "application_name", "service_name" => "application_name", "server" => "server_address",
      "url" => "server_address", "sample_rate" => "frequency", "oncpu" => "mode", "labels" => "tags"
    }.freeze

    SECRETS = %w[basic_auth_username basic_auth_password auth_token http_headers].freeze
    URLS = %w[server_address proxy].freeze

    OPTIONS.each do |name|
      define_method(name) { @values.fetch(name) { draft(name) } }
      define_method(:"#{name}=") { |value| @values[name] = value }
    end

    # Where the profiler's own lines go: anything with `info`, `warn` and `error`, or an IO. By default Rails.logger where
    # there is one, else standard error (nil).
    attr_accessor :logger

    def initialize
      @values = {}
      @drafts = {}
      @unknown = {}
    end

    # What the block said, by option name: for the core.
    # Options that do not exist are among it, so that the core refuses the whole.
    #
    # @return [Hash{String => Object}]
    def given
      filled = @drafts.reject { |name, value| value == CONTAINERS[name] }
      said = filled.merge(@values).compact.transform_values { |value| plain(value) }.merge(@unknown)
      logger_fits? ? said : said.merge("logger" => logger)
    end

    # The core's mistakes, with those that are better said here in place of its "unknown option".
    #
    # @param of_core [Array<String>]
    # @return [Array<String>]
    def mistakes_among(of_core)
      own = own_mistakes
      of_core.reject { |line| own.any? { |name, _| line.start_with?("unknown option \"#{name}\"") } } + own.values
    end

    # @return [#info, #warn, #error, nil] nil for standard error
    def usable_logger
      return rails_logger if logger.nil?

      logs?(logger) ? logger : LineLogger.new(logger) if logger_fits?
    end

    # Says one line; whatever stands in the way of that is not the application's trouble.
    def log_error(text)
      line = "[rperf-push] #{text}"
      usable_logger ? usable_logger.error(line) : $stderr.puts(line)
    rescue StandardError
      nil
    end

    # Without credentials: this ends up in logs and error reports.
    def inspect
      shown = @drafts.merge(@values).map { |name, value| "#{name}=#{shown_value(name, value)}" }
      "#<#{[self.class, *shown].join(" ")}>"
    end

    private

    # A Hash or Array to fill, for an option that was not assigned; nil for all others. Only looking at it says nothing.
    def draft(name)
      @drafts[name] ||= CONTAINERS[name].dup if CONTAINERS.key?(name)
    end

    # A mistyped option is a mistake like any other, not an exception in the application's boot.
    def method_missing(name, *arguments)
      return super unless unknown_option?(name) && arguments.size == 1

      @unknown[name.name.chomp("=")] = arguments.first
    end

    def respond_to_missing?(name, include_private = false)
      unknown_option?(name) || super
    end

    def unknown_option?(name)
      name.match?(/\A\w+=\z/)
    end

    # What the core can not know: it suggests what is spelt alike, and never sees a logger that is one.
    def own_mistakes
      mistakes = NAMES_ELSEWHERE.slice(*@unknown.keys).to_h do |name, meant|
        [name, "unknown option \"#{name}\" (did you mean #{meant}?)"]
      end
      mistakes["logger"] = "logger must respond to info, warn and error, or be an IO, got #{logger.class}" unless logger_fits?
      mistakes
    end

    def logger_fits?
      logger.nil? || logs?(logger) || logger.respond_to?(:puts)
    end

    def logs?(object)
      %i[info warn error].all? { |level| object.respond_to?(level) }
    end

    # A Pathname is a String to the core, and 10.seconds a Float.
    def plain(value)
      return value unless Object === value # rubocop:disable Style/CaseEquality -- a BasicObject answers nothing
      return value.to_path if value.respond_to?(:to_path)

      value.is_a?(Numeric) && ![Integer, Float].include?(value.class) ? value.to_f : value
    end

    def rails_logger
      ::Rails.logger if defined?(::Rails) && ::Rails.respond_to?(:logger)
    end

    def shown_value(name, value)
      return "[hidden]" if SECRETS.include?(name)

      shown = value.inspect
      URLS.include?(name) ? shown.sub(%r{//.*@}, "//[hidden]@") : shown
    end
  end
end
