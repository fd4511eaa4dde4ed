# frozen_string_literal: true

# What bin/demo runs once everything is in place: the shop under load, profiled, and what the profiles tell.
#
#   demo.rb SECONDS files               profiles go to tmp/demo
#   demo.rb SECONDS pyroscope           ... to a Pyroscope started here
#   demo.rb SECONDS pyroscope URL       ... to the one at URL
#
# With --rails in front of that, it is the bookshop, a Rails application.

require "fileutils"
require_relative "support/bookshop_process"
require_relative "support/profile_files"
require_relative "support/profile_server"
require_relative "support/shop_process"
require_relative "support/summary"

# Runs the shop and shows its profiles. What differs between backends is where profiles go to and are read from.
class Demo
  Failed = Class.new(StandardError)

  DIRECTORY = "tmp/demo"
  CLIENTS = 8
  UPLOAD_SECONDS = 5

  # Which application: its process, its profiles' name, its own methods.
  Application = Struct.new(:process, :name, :own)
  SHOP = Application.new(ShopProcess, "shop", /\AShop::/)
  BOOKSHOP = Application.new(BookshopProcess, "bookshop", /\A(?:Product|Order|Invoice|Bookshop)|\Aapp\//)

  def initialize(application, seconds)
    @application = application
    @seconds = seconds
  end

  def run
    prepare
    @started = Time.now
    serve
    source = read
    raise Failed, "no samples arrived; see #{log_path}" if source.empty?

    say "Profiles: #{source.description}"
    Summary.new(source).print(own: @application.own)
    raise Failed, "#{@failures}; see #{log_path}" if @failures

    look_further
  ensure
    finish
  end

  private

  def prepare = FileUtils.mkdir_p(DIRECTORY)
  def finish = nil

  def serve
    shop = @application.process.new({ "RPERF_PUSH_UPLOAD_INTERVAL" => UPLOAD_SECONDS.to_s, **environment }, log_path:)
    say "The #{@application.name} is open at #{shop.url}: #{CLIENTS} customers for #{@seconds} s, #{destination}"
    result = shop.serve(seconds: @seconds, clients: CLIENTS)
    say "Closing it."
    report(result, shop.stop, shop.complaints)
  ensure
    shop&.stop
  end

  def report(result, stopped_well, complaints)
    say format("Served %<requests>d requests, %<rate>.0f/s, p50 %<p50_ms>.1f ms, p99 %<p99_ms>.1f ms, %<errors>d errors", result)
    @failures = failures_in(result)
    say "The shop did not end by itself; see #{log_path}" unless stopped_well
    complaints.first(5).each { |complaint| say "  shop: #{complaint}" }
  end

  # nil: every request was answered as it should be.
  def failures_in(result)
    return if result[:errors].zero?

    kinds = result[:error_kinds].map { |kind, count| "#{count} × #{kind}" }.join(", ")
    "#{result[:errors]} requests failed (#{kinds})"
  end

  def log_path = File.join(DIRECTORY, "shop.log")
  def say(text) = $stdout.puts(text).tap { $stdout.flush }
end

# Through files in a directory.
class FilesDemo < Demo
  private

  def prepare
    super
    FileUtils.rm_f(files)
  end

  def files = Dir[File.join(DIRECTORY, "*.pb.gz")]
  def environment = { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => File.expand_path(DIRECTORY) }
  def destination = "profiled into #{DIRECTORY}"
  def read = ProfileFiles.new(files)

  def look_further
    say <<~TEXT

      Look further
        go tool pprof -http=127.0.0.1:8081 #{DIRECTORY}/*.pb.gz
        go tool pprof -top -sample_index=wall #{DIRECTORY}/*.pb.gz
        go tool pprof -top -tagfocus='endpoint=GET /' #{DIRECTORY}/*.pb.gz
        go tool pprof -tags #{DIRECTORY}/*.pb.gz

      See it: bin/with-ruby default bundle exec rperf-push view #{DIRECTORY}
    TEXT
  end
end

# Through a Pyroscope server, which is started here unless its address is given.
class PyroscopeDemo < Demo
  ARRIVAL_SECONDS = 15

  def initialize(application, seconds, url)
    super(application, seconds)
    @url = url
  end

  private

  def prepare
    super
    start_server unless @url
    raise Failed, "#{address} is not ready" unless profiles(since: Time.now).ready?
  end

  def start_server
    require_relative "../spec/support/pyroscope_server"
    server = PyroscopeServer.find or raise Failed, PyroscopeServer::HINT
    @server = server.start
    @url = server.url
    say "Pyroscope runs at #{address}"
  rescue ArgumentError, RuntimeError, SystemCallError => e
    raise Failed, e.message
  end

  def environment = { "RPERF_PUSH_BACKEND" => "pyroscope", "RPERF_PUSH_SERVER_ADDRESS" => @url }
  def destination = "profiles pushed to #{address}"

  # Without the password that the URL may carry.
  def address = profiles(since: Time.now).url
  def profiles(since:) = ProfileServer.new(@url, service: @application.name, since:)

  # What a server has taken it may show a little later.
  def read
    deadline = Time.now + ARRIVAL_SECONDS
    source = profiles(since: @started)
    sleep(0.5) while source.empty? && Time.now < deadline
    source
  end

  def look_further
    say ""
    say "Look further: open #{address} and choose the service #{@application.name}"
    return unless @server && $stdout.tty?

    say "The server runs until Ctrl-C."
    sleep
  end

  def finish = @server&.stop
end

application = ARGV.delete("--rails") ? Demo::BOOKSHOP : Demo::SHOP
seconds, backend, url = ARGV
begin
  (backend == "pyroscope" ? PyroscopeDemo.new(application, Integer(seconds), url) : FilesDemo.new(application, Integer(seconds))).run
rescue Demo::Failed, ShopProcess::Failed, ProfileServer::Failed => e
  warn "demo: #{e.message}"
  exit 1
rescue Interrupt
  puts
  exit 130
end
