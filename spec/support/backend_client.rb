# frozen_string_literal: true

require "json"
require "net/http"
require_relative "pprof_profile"

# Reads back from a backend what was sent to it. Each kind adds its queries.
class BackendClient
  attr_reader :url

  # @param url [String] of the server; a path in it is kept
  # @param headers [Hash] credentials or a tenant, where the server or a proxy in front wants them
  def initialize(url, headers: {})
    @url = url.chomp("/")
    @headers = headers
  end

  # @return [String] a selector of one service
  def self.service(name, **labels)
    "{#{{ service_name: name, **labels }.map { |key, value| "#{key}=#{JSON.generate(value)}" }.join(", ")}}"
  end
end
