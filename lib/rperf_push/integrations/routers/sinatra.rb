# frozen_string_literal: true

module RperfPush
  module Routers
    # Routes of Sinatra: `GET /users/:id`. Filters and static files have no route.
    module Sinatra
      private

      def route_eval
        route = env["sinatra.route"].to_s.split(" ", 2).last
        Request.of(env)&.route(env, route) if route
        super
      end

      def route_missing
        Request.of(env)&.unrouted unless @app # as a middleware: the application behind it may know the route
        super
      end

      Routers.before(::Sinatra::Base, self)
    end
  end
end
