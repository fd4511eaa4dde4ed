# frozen_string_literal: true

module RperfPush
  module Routers
    # Routes of Grape: `GET /api/v1/users/:id`, with prefix and version.
    module Grape
      # An endpoint of the API.
      module Endpoint
        def run(*)
          request = Request.of(env)
          request&.route(env, Grape.template(env["grape.routing_args"][:route_info])) if env["grape.routing_args"]
          super
        end
      end

      # All endpoints of an API.
      module Router
        def call(env)
          super.tap { |response| Request.of(env)&.unrouted if Routers.passed_on?(response) }
        end
      end

      def self.template(route)
        route.path.to_s.sub(":version") { Array(route.version).first.to_s }
      end

      Routers.before(::Grape::Endpoint, Endpoint)
      Routers.before(::Grape::Router, Router)
    end
  end
end
