# frozen_string_literal: true

require_relative "default_tags"
require_relative "role"

module RperfPush
  # What {Configuration#use_rails_defaults} stands for.
  class RailsDefaults
    ORIGIN = "the Rails application"

    attr_reader :role

    def initialize(role: Role.current)
      @role = role
    end

    # @return [String, nil] why profiling is off by default; nil: it is on
    def off_because
      return "this is #{env}, not production" unless env == "production"

      "this is a #{role}, not a server or a worker" unless %w[web jobs].include?(role)
    end

    # @param given [Hash{String => Object}]
    # @param texts [Hash{String => Array(String, String)}]
    # @return [Array(Hash, Hash)] both, over these defaults
    def under(given, texts)
      own = { "enabled" => [off_because ? "false" : "true", ORIGIN] }
      own["application_name"] = [name, ORIGIN] if name && texts.dig("application_name", 1) == Environment::PROGRAM_NAME
      texts = texts.merge(own.except(*(texts.keys - ["application_name"])))
      given, texts = DefaultTags.new(tags, ORIGIN).under(given, texts)
      [given, texts.except(*given.keys)]
    end

    private

    def env = ::Rails.env.to_s

    # Shop::Application is "shop".
    def name = ::Rails.application.class.module_parent_name&.underscore&.tr("/", "_")

    def tags = { "env" => env, "role" => role }
  end
end
