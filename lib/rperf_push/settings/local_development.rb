# frozen_string_literal: true

require "ipaddr"

module RperfPush
  # Whether a request is that of a developer, to the program on the developer's own machine. In doubt it is not.
  module LocalDevelopment
    # Any of them may be what a deployment sets.
    VARIABLES = %w[RAILS_ENV RACK_ENV APP_ENV HANAMI_ENV RUBY_ENV DEPLOY_ENV].freeze
    NAMES = %w[development test].freeze
    # A proxy adds one of these. Its own address says nothing of who asks.
    FORWARDED = /\AHTTP_(?:.*FORWARDED.*|.*REAL_IP|.*CLIENT_IP|.*CONNECTING_IP|VIA)\z/
    # A web site can have its own name lead to 127.0.0.1, so that the browser on this machine asks for that site's scripts.
    LOCAL_HOST = /\A(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?\z/i

    module_function

    # @param env [Hash] Rack's
    def request?(env, variables = ENV) = named?(variables) && loopback?(env) && LOCAL_HOST.match?(env["HTTP_HOST"].to_s)

    # Said by the environment, not only taken for it: Rails calls itself development where nothing says what it is.
    def named?(variables)
      rails = ::Rails.env.to_s if defined?(::Rails) && ::Rails.respond_to?(:env)
      said = variables.to_h.values_at(*VARIABLES).reject { |value| value.to_s.empty? }
      said.any? && [*said, *rails].all? { |value| NAMES.include?(value) }
    end

    # nginx says nothing of whom it forwards unless it is told to, but by default it speaks HTTP/1.0, which no browser does.
    def loopback?(env)
      return false if env["SERVER_PROTOCOL"] == "HTTP/1.0" || env.keys.any? { |key| FORWARDED.match?(key.to_s) }

      IPAddr.new(env["REMOTE_ADDR"].to_s).native.loopback?
    rescue IPAddr::Error
      false
    end
    private_class_method :named?, :loopback?
  end
end
