# frozen_string_literal: true

require_relative "activity"
require_relative "endpoint"

module RperfPush
  # A request in progress whose endpoint is named by routers. It stores what they have reported so far.
  #
  # A router runs somewhere behind the middleware that labels the request, and may call another router: each reports its route, or
  # where it mounts the next. So the name consists of what a programmer wrote ("GET /blog/posts/:id"), never of what a client sent.
  # Until a router has reported, the request has no name.
  class Request
    KEY = "rperf_push.request"
    UNROUTED = "unrouted"
    OPTIONAL_FORMAT = /\((?:\.:?\w+)\)\z/ # (.:format), (.json)

    class << self
      # @param env [Hash] Rack's
      # @return [Request, nil] nil if this request is not labelled, or is labelled in another way
      def of(env) = env[KEY]

      # @return [Object] the block's value
      def run(env, label_key: :endpoint, &)
        outer = env[KEY]
        return yield if outer && outer.label_key == label_key

        env[KEY] = new(label_key)
        begin
          Activity.serve({}, label_key, &)
        ensure
          env[KEY] = outer
        end
      end

      # Routers do not name this request.
      def hide(env)
        outer = env[KEY]
        env[KEY] = nil
        yield
      ensure
        env[KEY] = outer
      end
    end

    attr_reader :label_key

    def initialize(label_key)
      @label_key = label_key
      @mounts = []
    end

    # A router has chosen a route.
    #
    # @param template [String] the route as the program has it
    def route(env, template)
      # If the application's own routes show an error page, the name is still that of the failed request.
      return if @named && env["action_dispatch.exception"]

      path = join(prefix_of(env), template.sub(OPTIONAL_FORMAT, ""))
      @named = true
      name("#{Endpoint.method_of(env)} #{path.empty? ? "/" : path}")
    end

    # The request has reached a router with this SCRIPT_NAME.
    #
    # @return [Object] the block's value
    def within(script_name)
      outer = @at
      @at = script_name.to_s
      yield
    ensure
      @at = outer
    end

    # A router passes the request on, possibly to another application; SCRIPT_NAME is then longer.
    def reach(env, template)
      return route(env, template) if env["SCRIPT_NAME"].to_s == @at

      mount(template, script_name: env["SCRIPT_NAME"])
      route(env, "")
    end

    # A router passes the request on to another application; SCRIPT_NAME is longer by the text that the template matched.
    def mount(template, script_name:, before: @at)
      @mounts << [script_name, join(prefix_of("SCRIPT_NAME" => before), template)]
    end

    # The router has no such route, and no later router has named the request.
    def unrouted
      name(UNROUTED)
    end

    def named? = @named

    private

    # A template may begin with an optional part that has its own slash: (/:locale)/books
    def join(prefix, template)
      "#{prefix}#{"/" unless template.start_with?("(/")}#{template}".gsub("\\/", "/").squeeze("/").delete_suffix("/")
    end

    def name(text) = Activity.label(@label_key => text)

    # SCRIPT_NAME as programs wrote it. A part that no router has reported is reduced like a path.
    def prefix_of(env)
      script_name = env["SCRIPT_NAME"].to_s
      return "" if script_name.empty?

      actual, template = @mounts.reverse_each.find { |mounted, _| script_name.start_with?(mounted) } || ["", ""]
      rest = script_name.delete_prefix(actual)
      rest.empty? ? template : "#{template}#{Endpoint.route(rest)}"
    end
  end
end
