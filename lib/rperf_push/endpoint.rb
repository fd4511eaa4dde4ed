# frozen_string_literal: true

module RperfPush
  # The name under which a request's samples are found: "GET /users/:id".
  #
  # The router's own template is taken where it is known already. Else the path is cut down to the words that a programmer
  # wrote: whatever looks like data becomes ":id". So the names stay few, whoever asks for whatever, and nothing personal
  # gets into them. What slips through is capped on the wire by `max_label_values`.
  module Endpoint
    METHODS = %w[GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT].freeze
    MAX_SEGMENTS = 8
    MAX_SEGMENT_LENGTH = 40

    NAME = /\A[A-Za-z0-9._~:-]{1,#{MAX_SEGMENT_LENGTH}}\z/
    EXTENSION = /(?<=.)\.[a-z][a-z0-9]{0,4}\z/
    DATA = /
      \A\d[\d._:-]*\z |                      # 42, 2024-12-31, 1.5
      \A\d+- |                               # 42-the-title
      \A\h{8}(?:-\h{4}){3}-\h{12}\z |        # a UUID
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

    # @param env [Hash] Rack's
    # @return [String] the path as it came
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
      return segment unless [segment, segment.delete_suffix(extension)].any? { |text| text.match?(DATA) }

      ":id#{extension}"
    end

    # Known here if the middleware sits behind the router.
    def template_of(env)
      template = env["sinatra.route"] || env["action_dispatch.route_uri_pattern"] || grape_template(env)
      template.to_s.sub(/\((?:\.:?\w+|\.json)\)\z/, "") if template
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

    private_class_method :segment_name, :template_of, :grape_template, :method_of, :path_of
  end
end
