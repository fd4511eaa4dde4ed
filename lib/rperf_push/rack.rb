# frozen_string_literal: true

require_relative "../rperf_push"
require_relative "endpoint"
require_relative "request_label"

module RperfPush
  # Labels all that happens inside a request with its endpoint.
  #
  #   use RperfPush::RackMiddleware
  #   use RperfPush::RackMiddleware, label_key: :route
  #   use RperfPush::RackMiddleware, label: ->(env) { env["my.route"] }
  #
  # It hands through what the application returns, so streamed bodies, hijacking and `to_path` are as without it; what a
  # body does while the server reads it is outside of the label. Profiling is started elsewhere (see RperfPush.configure).
  class RackMiddleware
    # @param label_key [Symbol, String]
    # @param label [nil, :raw, #call] nil: METHOD and route, ids normalised. :raw: METHOD and path as they came.
    #   Or what is called with Rack's env; nil from it means no label.
    def initialize(app, label_key: :endpoint, label: nil)
      @app = app
      @label_key = label_key.to_sym
      @label = label
    end

    def call(env)
      endpoint = endpoint_of(env)
      return @app.call(env) unless endpoint

      RequestLabel.apply(@label_key => endpoint) { @app.call(env) }
    end

    private

    # A request without a label is better than one that fails for it.
    def endpoint_of(env)
      case @label
      when nil then Endpoint.of(env)
      when :raw then Endpoint.raw(env)
      else @label.call(env)&.then { |name| "#{name}" } # always a String, unlike to_s
      end
    rescue StandardError
      nil
    end
  end
end
