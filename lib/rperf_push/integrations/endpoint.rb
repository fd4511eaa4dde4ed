# frozen_string_literal: true

module RperfPush
  # The value of the label `endpoint` for a request: "GET /users/:id".
  #
  # It is the router's template if the router is known. Otherwise the path is reduced to the words that a programmer
  # wrote: UUIDs become ":uuid", and other segments that look like data become ":id". So there are few names, whatever
  # clients ask for, and they contain nothing personal. `max_label_values` limits the rest.
  module Endpoint
    METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze
    MAX_SEGMENTS = 8
    MAX_SEGMENT_LENGTH = 40

    NAME = /\A[A-Za-z0-9._~:-]{1,#{MAX_SEGMENT_LENGTH}}\z/
    EXTENSION = /(?<=.)\.[a-z][a-z0-9]{0,4}\z/
    UUID = /\A\h{8}(?:-\h{4}){3}-\h{12}\z/
    DATA = /
      \A\d[\d._:-]*\z |                      # 42, 2024-12-31, 1.5
      \A\d+- |                               # 42-the-title
      \A(?=\D*\d)\h{8,}\z | \A\h{16,}\z |    # a digest
      \A(?=\D*\d)[\w~-]{20,}\z               # a token
    /x

    module_function

    # @param env [Hash] Rack's
    # @return [String]
    def of(env)
      template = template_of(env)
      return template if template&.match?(/\A[A-Z]+ /)

      "#{method_of(env)} #{template || route(path_of(env))}"
    end

    # @param env [Hash] Rack's, after the application has seen it
    # @return [Boolean] true if a router that reports its templates has found one
    def routed?(env) = !template_of(env).nil?

    # @param env [Hash] Rack's
    # @return [String] the unchanged path
    def raw(env)
      "#{env["REQUEST_METHOD"]} #{path_of(env)}"
    end

    # @param path [String] "/users/42/posts/"
    # @return [String] "/users/:id/posts"
    def route(path)
      segments = path.b.split("/", MAX_SEGMENTS + 2).reject(&:empty?)
      named = segments.first(MAX_SEGMENTS).map { |segment| segment_name(segment) }
      named << "..." if segments.size > MAX_SEGMENTS
      "/#{named.join("/")}"
    end

    def segment_name(segment)
      return ":id" unless segment.match?(NAME)

      extension = segment[EXTENSION].to_s
      texts = [segment, segment.delete_suffix(extension)]
      return ":uuid#{extension}" if texts.any?(UUID)

      texts.any?(DATA) ? ":id#{extension}" : segment
    end

    # The template is known here if the middleware is behind the router.
    def template_of(env)
      template = env["sinatra.route"] || env["action_dispatch.route_uri_pattern"] || grape_template(env)
      return unless template

      template.to_s.sub(/\((?:\.:?\w+|\.json)\)\z/, "")
    end

    def grape_template(env)
      arguments = env["grape.routing_args"]
      route = arguments[:route_info] if arguments.respond_to?(:[])
      route.path if route.respond_to?(:path)
    end

    def method_of(env)
      method = env["REQUEST_METHOD"]
      METHODS.include?(method) ? method : "OTHER"
    end

    def path_of(env)
      "#{env["SCRIPT_NAME"]}#{env["PATH_INFO"]}"
    end

    private_class_method :segment_name, :template_of, :grape_template, :path_of
  end
end
