# frozen_string_literal: true

module RperfPush
  module Routers
    # Routes of Rails 7.1 and newer: `GET /users/:id(/:title)`. Routes of engines include the path of the mount.
    module Rails
      # Rails stores one pattern per request: for an engine's route it would be the pattern of the mount.
      def self.template(request)
        route = request.get_header("action_dispatch.route")
        route ? route.path.spec.to_s : request.route_uri_pattern.to_s
      end

      # If this router finds no route, another router may find one and report it.
      module RouteSet
        def call(env)
          request = Request.of(env) or return super

          response = request.within(env["SCRIPT_NAME"]) { super }
          request.unrouted if Routers.passed_on?(response)
          response
        end
      end

      # The endpoint is a controller.
      module Dispatcher
        def serve(request)
          Request.of(request.env)&.route(request.env, Rails.template(request))
          super
        end
      end

      # The endpoint is a mounted application, or anything else but a controller, that the constraints let through.
      module Constraints
        def matches?(request)
          super.tap { |matched| reached(request) if matched && !dispatcher? }
        end

        private

        # For a mounted application, the router has moved the matched part from PATH_INFO to SCRIPT_NAME.
        def reached(request)
          known = Request.of(request.env) or return
          known.reach(request.env, Rails.template(request))
        end
      end

      if ::ActionDispatch::Request.method_defined?(:route_uri_pattern)
        Routers.before(::ActionDispatch::Routing::RouteSet, RouteSet)
        Routers.before(::ActionDispatch::Routing::RouteSet::Dispatcher, Dispatcher)
        Routers.before(::ActionDispatch::Routing::Mapper::Constraints, Constraints)
      end
    end
  end
end
