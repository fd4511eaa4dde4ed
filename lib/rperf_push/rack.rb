# frozen_string_literal: true

require_relative "."
require_relative "integrations/endpoint"
require_relative "integrations/request"
require_relative "integrations/routers"

module RperfPush
  # Labels the samples of a request with its endpoint. If a router of {Routers} is loaded, it names the endpoint as soon as it has
  # chosen a route: with the router's own template ("GET /users/:id"), or "unrouted". Without a router, the path is
  # reduced to its words (see {Endpoint}).
  #
  #   use RperfPush::RackMiddleware
  #   use RperfPush::RackMiddleware, label_key: :route
  #   use RperfPush::RackMiddleware, label: ->(env) { env["my.route"] }
  #
  # Without a router, a request that ends in 404 is also "unrouted".
  #
  # It returns the application's response unchanged, so streamed bodies, hijacking and `to_path` work as without it. The label
  # does not cover the body's work while the server reads it. The middleware starts no profiling (see RperfPush.configure).
  class RackMiddleware
    # @param label_key [Symbol, String]
    # @param label [nil, :raw, #call] nil: METHOD and route. :raw: METHOD and unchanged path.
    #   Otherwise it is called with Rack's env and returns the label, or nil for no label.
    def initialize(app, label_key: :endpoint, label: nil)
      @app = app
      @label_key = label_key.to_sym
      @label = label
      @routed = label.nil? && Routers.hook
    end

    def call(env)
      return Request.run(env, label_key: @label_key) { @app.call(env) } if @routed

      endpoint = endpoint_of(env)
      return @app.call(env) unless endpoint

      Request.hide(env) { Activity.serve({ @label_key => endpoint }, @label_key) { answer(env) } }
    end

    private

    # The labels that are set below are known from the start to have the same route, found or not.
    def answer(env)
      Native.no_route(@label_key, false) unless @label
      @app.call(env).tap { |response| note_route(env, response) }
    end

    # Clients can invent any number of paths that no route serves; all of them are sent as "unrouted".
    def note_route(env, response)
      Native.no_route(@label_key, response.first.to_i == 404 && !Endpoint.routed?(env)) unless @label
    rescue StandardError
      nil # another kind of response: unchanged
    end

    # A request without a label is better than a failed request.
    def endpoint_of(env)
      case @label
      when nil then Endpoint.of(env)
      when :raw then Endpoint.raw(env)
      else @label.call(env)&.then { |name| "#{name}" } # rubocop:disable Style/RedundantInterpolation -- always a String, unlike to_s
      end
    rescue StandardError
      nil
    end
  end
end
