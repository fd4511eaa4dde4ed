#!/usr/bin/env ruby
# frozen_string_literal: true

# load.rb - visits a shop as many customers would: load.rb URL [--seconds N] [--clients M] [--json]

trap("INT") { exit!(130) } # before all else, so that Ctrl-C is never answered with a backtrace

require "json"
require "net/http"
require "optparse"

# What customers do, and how often.
class Visit
  WORDS = %w[lamp chair kettle wooden silent bicycle teapot striped promise steel].freeze
  MIX = { home: 20, products: 20, product: 25, search: 12, cart: 12, checkout: 6, login: 3, report: 2 }.freeze
  DECK = MIX.flat_map { |name, weight| [name] * weight }.freeze

  def self.any(random) = new(random).public_send(DECK.sample(random:))

  def initialize(random)
    @random = random
  end

  def home = get("/")
  def products = get("/products?page=#{@random.rand(1..25)}")
  def product = get("/products/#{product_id}")
  def search = get("/search?q=#{WORDS.sample(2, random: @random).join("+")}")
  def cart = get("/cart?items=#{items.join(",")}")
  def report = get("/report.csv.gz")
  def checkout = post("/checkout", "application/json", JSON.generate(email:, items:))

  def login = post("/login", "application/x-www-form-urlencoded",
                   URI.encode_www_form(email:, password: "correct horse battery staple"))

  private

  def get(path) = Net::HTTP::Get.new(path)
  def post(path, type, body) = Net::HTTP::Post.new(path, "content-type" => type).tap { |request| request.body = body }
  def product_id = @random.rand(1..600)
  def items = Array.new(@random.rand(1..6)) { product_id }
  def email = "customer#{@random.rand(6)}@example.com"
end

# One customer after the other through one connection, until time is up.
class Client
  attr_reader :latencies, :errors

  def initialize(url, seed, visits)
    @url = url
    @visits = visits
    @random = Random.new(seed)
    @latencies = []
    @errors = Hash.new(0)
  end

  def run(until_time)
    visit until now >= until_time
  ensure
    @http&.finish if @http&.started?
  end

  private

  def visit
    started = now
    answer = http.request(@visits.any(@random))
    @latencies << (now - started)
    @errors["status #{answer.code}"] += 1 if answer.code.to_i >= 400
  rescue SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError => e
    @errors[e.class.name] += 1
    @http = nil
    sleep(0.05) # a server that is gone is not asked in a tight loop
  end

  def http = @http ||= Net::HTTP.start(@url.host, @url.port, nil, open_timeout: 2, read_timeout: 10, max_retries: 0)
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

# Several clients at once, and what they met.
class Load
  def initialize(url, seconds:, clients:, visits: Visit)
    @seconds = seconds
    @clients = Array.new(clients) { |number| Client.new(url, number, visits) }
  end

  def run
    started = now
    threads = @clients.map { |client| Thread.new { client.run(started + @seconds) } }
    progress = Thread.new { show_progress(started) while sleep(0.2) }
    threads.each(&:join)
    @elapsed = now - started
    self
  ensure
    progress&.kill&.join
    $stderr.print("\r\e[K") if $stderr.tty?
  end

  def to_h
    latencies = @clients.flat_map(&:latencies).sort
    errors = @clients.map(&:errors).reduce({}) { |sum, more| sum.merge(more) { |_, a, b| a + b } }
    { requests: latencies.size, seconds: @elapsed.round(3), rate: (latencies.size / @elapsed).round(1),
      errors: errors.values.sum, error_kinds: errors,
      p50_ms: percentile(latencies, 0.50), p99_ms: percentile(latencies, 0.99) }
  end

  def to_s
    sums = to_h
    kinds = sums[:error_kinds].map { |kind, count| "#{count} × #{kind}" }.join(", ")
    format("%<requests>d requests in %<seconds>.1f s: %<rate>.1f/s, p50 %<p50_ms>.1f ms, p99 %<p99_ms>.1f ms, " \
           "%<errors>d errors", sums) +
      (kinds.empty? ? "" : " (#{kinds})")
  end

  private

  def percentile(sorted, share)
    return 0.0 if sorted.empty?

    (sorted[((sorted.size - 1) * share).round] * 1000).round(2)
  end

  def show_progress(started)
    return unless $stderr.tty?

    elapsed = now - started
    served = @clients.sum { |client| client.latencies.size }
    $stderr.print format("\r\e[K  load: %<elapsed>2d of %<all>d s, %<served>d requests, %<rate>.0f/s",
                         elapsed:, all: @seconds, served:, rate: served / [elapsed, 0.2].max)
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def refuse(message)
  warn "load.rb: #{message}"
  exit 1
end

options = { seconds: 20.0, clients: 8, json: false }
parser = OptionParser.new do |parse|
  parse.banner = "usage: load.rb URL [options]"
  parse.on("--seconds N", Float, "how long (20)") { |seconds| options[:seconds] = seconds }
  parse.on("--clients M", Integer, "how many at once (8)") { |clients| options[:clients] = clients }
  parse.on("--bookshop", "visit examples/rails") do
    require_relative "../rails/visit"
    options[:visits] = BookshopVisit
  end
  parse.on("--json", "the results for machines") { options[:json] = true }
end

begin
  addresses = parser.parse(ARGV)
rescue OptionParser::ParseError => e
  refuse(e.message)
end
refuse("one URL is needed, such as http://127.0.0.1:9292") unless addresses.size == 1
url = URI.parse(addresses.first) rescue refuse("not a URL: #{addresses.first}")
refuse("not an http URL: #{addresses.first}") unless url.is_a?(URI::HTTP) && url.host
refuse("--seconds and --clients must be above 0") unless options[:seconds].positive? && options[:clients].positive?

load = Load.new(url, **options.except(:json)).run
puts options[:json] ? JSON.generate(load.to_h) : load.to_s
