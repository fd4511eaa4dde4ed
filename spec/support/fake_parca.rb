# frozen_string_literal: true

require "json"
require_relative "fake_backend"
require_relative "fake_backend/refusal"

# A strict stand-in for Parca: it takes what is written by the real server's rules, answers its queries, keeps all that it
# was sent for a test to look at, and crashes on what crashes the real one: loudly, and until a fault is set or cleared.
#
# In a thread:       fake_server = FakeParca.new; fake_server.url; fake_server.received; fake_server.crashes
# Its own process:   ruby spec/support/fake_parca.rb --port 0, see FakeParca::Remote.
class FakeParca
  include FakeBackend

  Refusal = FakeBackend::Refusal

  # What no server of this kind survives.
  class Crash < StandardError; end
end

require_relative "fake_parca/querier"
require_relative "fake_parca/storage"
require_relative "fake_parca/write_service"

class FakeParca
  API = "/api/profiles"
  WRITE = "#{API}/writeraw".freeze
  GRPC_CODES = {
    "unknown" => 2, "invalid_argument" => 3, "deadline_exceeded" => 4, "not_found" => 5, "resource_exhausted" => 8,
    "unimplemented" => 12, "internal" => 13, "unavailable" => 14, "unauthenticated" => 16
  }.freeze

  # The options of the command line.
  #
  # @param options [Hash] for new
  def self.declare(parser, options)
    parser.on("--bearer TOKEN") { |token| options[:bearer] = token }
  end

  # @param port [Integer] 0 for a free one
  # @param prefix [String] a path in front of all others, as behind a proxy
  # @param latency [Range] seconds until a write is answered
  # @param max_bytes [Integer] of a request, decoded
  # @param request_timeout [Numeric] seconds that a request may take to come in
  # @param bearer [String, nil] what a proxy in front wants to see
  def initialize(port: 0, prefix: "", latency: 0.001..0.01, max_bytes: 64 * 1024 * 1024, request_timeout: 5, bearer: nil)
    @bearer = bearer
    @crashes = []
    @querier = Querier.new(storage = Storage.new)
    @write = WriteService.new(storage:, max_bytes:) { |received| record(received) }
    serve(port:, prefix:, latency:, request_timeout:)
  end

  # @return [Array<String>] why it crashed, each time
  def crashes = @lock.synchronize { @crashes.dup }

  def state = super.merge(crashes:)

  private

  def answer(request)
    path = request.path.delete_prefix(@prefix)
    raise Refusal.new("not_found", "Not Found") unless request.path.start_with?("#{@prefix}/")
    raise Refusal.new("unauthenticated", "no token") if @bearer && request.headers["authorization"] != "Bearer #{@bearer}"
    return write(request) if path == WRITE
    raise Refusal.new("unimplemented", "Method Not Allowed") unless request.verb == "GET"

    json(@querier.call(path.delete_prefix(API), request.query))
  rescue Refusal => e
    refused(e)
  rescue Crash => e
    crash(e)
  end

  def write(request)
    raise Refusal.new("unimplemented", "Method Not Allowed") unless request.verb == "POST"

    upload(json({})) { |fault| @write.call(request.body, request.headers, fault:) }
  end

  # Everybody's connection is gone, and who tries it again finds nobody.
  def crash(reason)
    warn "\nParca would have crashed: #{reason.message}"
    @lock.synchronize { @crashes << reason.message }
    @server.refuse
    HttpAnswer.none
  end

  def json(object) = HttpAnswer.json(200, JSON.generate(object))

  def refused(refusal, headers = {})
    body = { code: GRPC_CODES.fetch(refusal.code), message: refusal.message, details: [] }
    HttpAnswer.json(refusal.status, JSON.generate(body), headers)
  end
end

if $PROGRAM_NAME == __FILE__
  require_relative "fake_backend/program"
  FakeBackend::Program.run(FakeParca, ARGV)
end
