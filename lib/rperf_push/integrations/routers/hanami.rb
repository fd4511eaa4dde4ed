# frozen_string_literal: true

module RperfPush
  module Routers
    # Routes of Hanami's router: `GET /users/:id`.
    module Hanami
      # The last match of the routes with variables, until the router has read it: only the routes know the template, and
      # only the router knows the request.
      FOUND = :__rperf_push_hanami_leaf__

      # All routes.
      module Router
        private

        def lookup(env)
          request = Request.of(env) or return super

          script_name = env["SCRIPT_NAME"].to_s
          Thread.current[FOUND] = nil
          found = super
          say(request, env, script_name) if found&.first
          found
        end

        def say(request, env, script_name)
          template = Thread.current[FOUND]
          if env["SCRIPT_NAME"].to_s == script_name
            request.route(env, template || env["PATH_INFO"])
          else
            request.mount(template, script_name: env["SCRIPT_NAME"], before: script_name)
            request.route(env, "")
          end
        end

        def not_found(env)
          Request.of(env)&.unrouted
          super
        end

        def not_allowed(env)
          super.tap { |response| Request.of(env)&.unrouted if response }
        end
      end

      # A route with variables.
      module Leaf
        def match(path)
          super.tap { |match| Thread.current[FOUND] = matcher.to_s if match }
        end
      end

      # A route with a glob, or a mounted application.
      module Path
        def endpoint_and_params(env)
          super.tap { |found| Thread.current[FOUND] = (@path || @prefix).to_s unless found.empty? }
        end
      end

      Routers.before(::Hanami::Router, Router)
      Routers.before(::Hanami::Router::Leaf, Leaf)
      [::Hanami::Router::GlobbedPath, ::Hanami::Router::MountedPath].each { |path| path.prepend(Path) }
    end
  end
end
