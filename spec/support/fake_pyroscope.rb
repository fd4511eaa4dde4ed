# frozen_string_literal: true

require "json"
require_relative "fake_backend"
require_relative "fake_backend/refusal"

# A strict stand-in for Pyroscope: it takes pushes by the real server's rules, answers its queries, and keeps all that
# it was sent for a test to look at.
#
# In a thread:       fake_server = FakePyroscope.new; fake_server.url; fake_server.received; fake_server.faults.set(status: 503)
# Its own process:   ruby spec/support/fake_pyroscope.rb --port 0, see FakePyroscope::Remote. So it does not share
#                    the interpreter's lock with what it is a fake server for.
class FakePyroscope
  include FakeBackend

  Refusal = FakeBackend::Refusal
end

require_relative "fake_pyroscope/ingest_service"
require_relative "fake_pyroscope/push_service"
require_relative "fake_pyroscope/querier"
require_relative "fake_pyroscope/rate_bucket"
require_relative "fake_pyroscope/storage"

class FakePyroscope
  PUSH = "/push.v1.PusherService/Push"
  INGEST = "/ingest"
  QUERIER = "/querier.v1.QuerierService/"
  CONTENT_TYPES = { "application/proto" => false, "application/json" => true, "application/json; charset=utf-8" => true }.freeze

  # The options of the command line.
  #
  # @param options [Hash] for new
  def self.declare(parser, options)
    parser.on("--rules v1|v2", %w[v1 v2]) { |rules| options[:rules] = rules.to_sym }
    parser.on("--rate BYTES", Float) { |rate| options[:rate] = rate }
    parser.on("--old", "know /ingest only") { options[:push] = false }
    parser.on("--tenants") { options[:tenants] = true }
    parser.on("--basic-auth USER:PASSWORD") { |credentials| options[:basic_auth] = credentials }
  end

  # @param rules [Symbol] :v2, or :v1 for a server that sanitises label names and drops duplicates
  # @param port [Integer] 0 for a free one
  # @param prefix [String] a path in front of all others, as behind a proxy
  # @param latency [Range] seconds until a push is answered
  # @param rate [Numeric] bytes a second that refill the rate bucket
  # @param push [Boolean] whether it knows the push API, or is so old that /ingest is all there is
  # @param tenants [Boolean] whether X-Scope-OrgID must be there
  # @param basic_auth [String, nil] "user:password" that must be there
  def initialize(rules: :v2, port: 0, prefix: "", latency: 0.005..0.02, rate: 16 * 1024 * 1024, push: true,
                 tenants: false, basic_auth: nil)
    raise ArgumentError, "rules are :v1 or :v2" unless %i[v1 v2].include?(rules)

    @knows_push = push
    @tenants = tenants
    @basic_auth = basic_auth
    @querier = Querier.new(storage = Storage.new(drop_duplicates: rules == :v1))
    @push = PushService.new(storage:, bucket: RateBucket.new(rate:), label_rules: LabelRules.new(sanitize: rules == :v1)) do |received|
      record(received)
    end
    @ingest = IngestService.new(@push)
    serve(port:, prefix:, latency:)
  end

  private

  def answer(request)
    return redirect(request.path) if request.path.include?("//")

    return HttpAnswer.text(404, "404 page not found\n") unless request.path.start_with?("#{@prefix}/")

    path = request.path.delete_prefix(@prefix)
    return HttpAnswer.text(200, "ready\n") if path == "/ready"

    post(request, path)
  end

  def redirect(path) = HttpAnswer.text(301, "", "Location" => path.squeeze("/"))

  def post(request, path)
    procedure = path.delete_prefix(QUERIER)
    known = (path == PUSH && @knows_push) || path == INGEST || (procedure != path && Querier::PROCEDURES.key?(procedure))
    return HttpAnswer.text(404, "404 page not found\n") unless known
    return HttpAnswer.text(405, "", "Allow" => "POST") unless request.verb == "POST"

    return encoded(request) { ingest(request) } if path == INGEST

    content_type = request.headers["content-type"].to_s
    return HttpAnswer.text(415, "", "Accept-Post" => CONTENT_TYPES.keys.join(", ")) unless CONTENT_TYPES.key?(content_type)

    json = CONTENT_TYPES[content_type]
    encoded(request) { path == PUSH ? push(request, json) : query(request, procedure, json) }
  end

  # What was sent with gzip comes back with gzip, whatever was asked for.
  def encoded(request)
    answer = begin
      check_access(request.headers)
      yield
    rescue Refusal => e
      refused(e)
    end
    request.gzip? && answer.status == 200 ? answer.gzipped : answer
  end

  def check_access(headers)
    basic = headers["authorization"].to_s[/\ABasic (.*)/, 1].to_s.unpack1("m")
    raise Refusal.new("unauthenticated", "invalid authentication credentials") if @basic_auth && basic != @basic_auth
    raise Refusal.new("unauthenticated", "no org id") if @tenants && headers["x-scope-orgid"].to_s.empty?
  end

  def refused(refusal, headers = {})
    HttpAnswer.json(refusal.status, JSON.generate(code: refusal.code, message: refusal.message), headers)
  end

  def body(request)
    case request.headers["content-encoding"]
    when nil, "identity" then request.body
    when "gzip" then Zlib.gunzip(request.body)
    else raise Refusal.new("unimplemented", "unknown compression #{request.headers["content-encoding"].inspect}")
    end
  rescue Zlib::Error => e
    raise Refusal.new("invalid_argument", e.message)
  end

  def query(request, procedure, json)
    HttpAnswer.new(200, { "Content-Type" => json ? "application/json" : "application/proto" },
                   @querier.call(procedure, body(request), json:))
  end

  # A Content-Encoding is not heard of.
  def ingest(request)
    upload(HttpAnswer.new(200, {}, "")) { |fault| @ingest.call(request.query, request.body, request.headers, fault:) }
  end

  def push(request, json)
    good = HttpAnswer.new(200, { "Content-Type" => json ? "application/json" : "application/proto" }, json ? "{}" : "")
    upload(good) { |fault| @push.call(body(request), request.headers, json:, fault:) }
  end
end

if $PROGRAM_NAME == __FILE__
  require_relative "fake_backend/program"
  FakeBackend::Program.run(FakePyroscope, ARGV)
end
