# frozen_string_literal: true

require_relative "request"

module RperfPush
  # The routers that report the chosen route (see {Request}). A router gets hooks if it is loaded: the hooks are prepended to
  # the framework's methods, pass their arguments on, and return their results.
  module Routers
    KNOWN = {
      "Rails" => ["rails", -> { defined?(::ActionDispatch::Routing::RouteSet) }],
      "Sinatra" => ["sinatra", -> { defined?(::Sinatra::Base) }],
      "Grape" => ["grape", -> { defined?(::Grape::API) }],
      "Roda" => ["roda", -> { defined?(::Roda::RodaRequest) }],
      "Hanami" => ["hanami", -> { defined?(::Hanami::Router) }]
    }.freeze

    module_function

    # @return [Boolean] true if a router of this process names requests
    def hook
      KNOWN.each_value { |file, there| require_relative "routers/#{file}" if there.call }
      KNOWN.each_value.any? { |_, there| there.call }
    end

    # Prepends these hooks to the framework's methods.
    def before(owner, hooks) = owner.prepend(hooks)

    # @return [Boolean] true if the router's answer passes the request on to the next router
    def passed_on?(response)
      return false unless response && response[0] == 404

      headers = response[1]
      (headers["x-cascade"] || headers["X-Cascade"]) == "pass"
    end
  end
end
