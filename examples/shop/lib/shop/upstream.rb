# frozen_string_literal: true

require "json"
require "net/http"
require "rbconfig"

module Shop
  # The services of others, for payment and for stock: a real HTTP server in a process of its own, which takes its time.
  class Upstream
    Failed = Class.new(StandardError)

    attr_reader :url

    # The child ends when its standard input does, that is with this process and the workers forked from it, however
    # they end. So it needs no shutdown of its own.
    def initialize
      @pipe = IO.popen([RbConfig.ruby, File.join(ROOT, "upstream.rb")], "r+")
      @url = URI(@pipe.gets&.chomp || raise(Failed, "the upstream did not start"))
    end

    def get(path) = exchange(Net::HTTP::Get.new(path))

    def post(path, document)
      exchange(Net::HTTP::Post.new(path, "content-type" => "application/json").tap { |post| post.body = JSON.generate(document) })
    end

    private

    def exchange(request)
      answer = Net::HTTP.start(@url.host, @url.port, nil, open_timeout: 2, read_timeout: 5) { |http| http.request(request) }
      raise Failed, "upstream answered #{answer.code}" unless answer.is_a?(Net::HTTPSuccess)

      JSON.parse(answer.body, symbolize_names: true)
    end
  end
end
