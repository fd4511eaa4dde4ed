# frozen_string_literal: true

require_relative "default_tags"
require_relative "../base/line_logger"
require_relative "../base/notice"

module RperfPush
  # The argument of `configure`'s block: one writer and one reader for every option.
  #
  # It only stores values. The core checks types, limits and combinations of all options at once, so that one
  # answer names everything that is wrong. config/initializers/rperf_push.rb shows every option with its default.
  #
  # nil means unset, so that `config.tenant_id = ENV["TENANT"]` works if the variable is not set.
  class Configuration
    OPTIONS = %w[
      application_name server_address backend directory directory_max_files directory_max_bytes
      tags report_hostname report_pid
      mode frequency engine
      upload_interval upload_timeout shutdown_timeout
      basic_auth_username basic_auth_password auth_token tenant_id http_headers
      tls_ca_file tls_client_cert tls_client_key tls_verify proxy
      queue_max_bytes spool_directory spool_max_bytes resend_unconfirmed
      overhead_limit max_label_values label_names label_deny class_labels outcome_labels slow_requests
      vm_state_frames lines control_socket enabled
    ].freeze

    # What `config.tags[:env] = "production"` starts from.
    CONTAINERS = {
      "tags" => {},
      "http_headers" => {},
      "label_names" => { "%GVL" => "gvl_state", "%GC" => "gc_phase", "%pid" => "pid" },
      "label_deny" => []
    }.freeze

    # Texts to the core that are written as something else, too.
    TEXTS = { "control_socket" => [true, false], "slow_requests" => [Numeric, true, false] }.freeze

    SECRETS = %w[basic_auth_username basic_auth_password auth_token http_headers].freeze
    URLS = %w[server_address proxy].freeze

    OPTIONS.each do |name|
      define_method(name) { @values.fetch(name) { draft(name) } }
      define_method(:"#{name}=") { |value| @values[name] = value }
    end

    # The logger for the profiler's own lines: an object with `info`, `warn` and `error`, or an IO. nil, the default, means
    # Rails.logger if it exists, else standard error.
    attr_accessor :logger

    def initialize
      @values = {}
      @drafts = {}
      @unknown = {}
    end

    # Sets defaults for a Rails application, which all other settings override: the application's name, the tags `env`
    # and `role`, on in production if the process serves requests or runs jobs, off in consoles, rake tasks, tests and development.
    # Without Rails it does nothing.
    #
    # @return [void]
    def use_rails_defaults
      return unless defined?(::Rails.application) && ::Rails.application

      require_relative "rails_defaults"
      @defaults = RailsDefaults.new
    end

    # @return [RailsDefaults, nil]
    attr_reader :defaults

    # The options given and those of the environment, one over the other, both over the defaults. Tags are laid over each other.
    #
    # @param texts [Hash{String => Array(String, String)}] of {Environment}
    # @return [Array(Hash, Hash)] given, texts
    def over(texts)
      said, texts = @defaults ? @defaults.under(given, texts) : [given, texts]
      said, texts = DefaultTags.of_commit(ENV).under(said, texts)
      [said, texts.except(*said.keys)]
    end

    # What the block said, by option name: for the core.
    # Options that do not exist are among it, so that the core refuses the whole.
    #
    # @return [Hash{String => Object}]
    def given
      filled = @drafts.reject { |name, value| value == CONTAINERS[name] }
      filled.merge(@values).compact.to_h { |name, value| [name, plain(name, value)] }.merge(@unknown)
    end

    # What is wrong that the core cannot see: it never gets a logger that is none.
    #
    # @return [Array<String>]
    def own_errors
      logger_fits? ? [] : ["logger must respond to info, warn and error, or be an IO, got #{logger.class}"]
    end

    # @return [#info, #warn, #error, nil] nil for standard error
    def usable_logger
      return rails_logger if logger.nil?

      return unless logger_fits?

      logs?(logger) ? logger : LineLogger.new(logger)
    end

    # Logs one line. A failure of the logger must not disturb the application.
    #
    # @param level [Symbol] :warn or :error
    def log(level, text)
      line = "[rperf-push] #{text}"
      usable_logger ? usable_logger.public_send(level, line) : Notice.write(line)
    rescue StandardError
      nil
    end

    # Shows no credentials, because it ends up in logs and error reports.
    def inspect
      shown = @drafts.merge(@values).map { |name, value| "#{name}=#{shown_value(name, value)}" }
      "#<#{[self.class, *shown].join(" ")}>"
    end

    private

    # A Hash or Array to fill, for an option that was not assigned; nil for all others. Reading it does not set the option.
    def draft(name)
      @drafts[name] ||= CONTAINERS[name].dup if CONTAINERS.key?(name)
    end

    # A mistyped option is an ordinary error, not an exception in the application's boot.
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

    def logger_fits?
      logger.nil? || logs?(logger) || logger.respond_to?(:puts)
    end

    def logs?(object)
      %i[info warn error].all? { |level| object.respond_to?(level) }
    end

    # A Pathname is a String to the core, and 10.seconds a Float.
    def plain(name, value)
      return value unless Object === value # rubocop:disable Style/CaseEquality -- a BasicObject answers nothing
      return value.to_path if value.respond_to?(:to_path)

      value = value.to_f if value.is_a?(Numeric) && ![Integer, Float].include?(value.class)
      TEXTS[name]&.any? { |kind| kind === value } ? value.to_s : value # rubocop:disable Style/CaseEquality -- classes and values
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
