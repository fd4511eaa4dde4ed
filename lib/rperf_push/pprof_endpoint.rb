# frozen_string_literal: true

require_relative "."
require_relative "sessions/side_session"

module RperfPush
  # For clients that pull profiles: `go tool pprof http://…`, Parca's scraper, Grafana Alloy's `pyroscope.scrape`.
  #
  #   require "rperf_push/pprof_endpoint"
  #   map("/debug/pprof") { run RperfPush::PprofEndpoint.new }                     # config.ru
  #   mount RperfPush::PprofEndpoint.new => "/debug/pprof"                         # Rails: within your own authentication
  #
  # It shows what the program does, so it is off unless mounted, and belongs behind authentication. Each request has its own
  # session; one sampler captures for all of them. docs/control.md says more.
  class PprofEndpoint
    SECONDS = 30 # when a request does not say, as Go has it
    HEADERS = { "content-type" => "text/plain; charset=utf-8", "x-content-type-options" => "nosniff", "cache-control" => "no-store" }.freeze
    PROFILE = HEADERS.merge("content-type" => "application/octet-stream", "content-disposition" => 'attachment; filename="profile"').freeze
    PAGES = {
      "profile?seconds=N" => "CPU and wall time of all threads in the N seconds from now on, as pprof",
      "cmdline" => "the program's command line",
      "symbol" => "for go tool pprof, which asks: names are in the profile already"
    }.freeze

    # What to tell a caller, with an HTTP status.
    class Refusal < StandardError
      attr_reader :status

      def initialize(status, message)
        super(message)
        @status = status
      end
    end

    # @param max_seconds [Numeric] that one request may ask for
    # @param max_callers [Integer] at a time: each of them holds a thread of the server while it waits
    # @param frequency [Integer] Hz
    # @param mode [Symbol, Array<Symbol>] as {RperfPush.start} has it
    # @param cmdline [Boolean] whether `cmdline` answers with the command line, in which secrets may stand
    def initialize(max_seconds: 60, max_callers: 2, frequency: 99, mode: %i[cpu wall], cmdline: false)
      unless [max_seconds, max_callers].all? { |limit| limit.is_a?(Numeric) && limit.positive? }
        raise ArgumentError, "max_seconds and max_callers must be above 0, got #{max_seconds.inspect} and #{max_callers.inspect}"
      end

      @max_seconds = max_seconds
      @max_callers = max_callers
      @options = { frequency:, mode: }
      @pages = cmdline ? PAGES : PAGES.except("cmdline")
      @lock = Mutex.new
      @callers = 0
    end

    # Rack's.
    def call(env)
      return [405, HEADERS.merge("allow" => "GET, HEAD"), ["only GET\n"]] unless %w[GET HEAD POST].include?(env["REQUEST_METHOD"])

      answer(env, env["PATH_INFO"].to_s.delete_prefix("/debug/pprof").delete_prefix("/").chomp("/"))
    rescue Refusal => e
      [e.status, HEADERS.merge(e.status == 429 ? { "retry-after" => "5" } : {}), ["#{e.message}\n"]]
    end

    private

    def answer(env, path)
      case path
      when "" then text(@pages.map { |page, what| format("%-20s%s\n", page, what) }.join)
      when "profile" then profile(env)
      when "symbol" then text("num_symbols: 0\n")
      when "cmdline" then command_line
      else raise Refusal.new(404, "there is no #{path[0, 50].inspect}: #{@pages.keys.map { |page| page[/\w+/] }.join(", ")}")
      end
    end

    def text(body) = [200, HEADERS, [body]]

    def command_line
      raise Refusal.new(404, "cmdline is off: PprofEndpoint.new(cmdline: true) shows the command line") unless @pages.key?("cmdline")

      text([$PROGRAM_NAME, *ARGV].join("\0"))
    end

    def profile(env)
      seconds = seconds_of(env["QUERY_STRING"].to_s)
      return [200, PROFILE, []] if env["REQUEST_METHOD"] == "HEAD"

      data = admitted { record(seconds) }
      [200, PROFILE, [Formats.encode(data, "profile.pb.gz", :pprof)]]
    end

    def record(seconds)
      session = begin_session
      begin
        sleep(seconds)
      ensure
        data = session.stop
      end
      data || raise(Refusal.new(503, "the process ends"))
    end

    def begin_session
      SideSession.new(**@options)
    rescue RuntimeError
      raise Refusal.new(503, "as many sessions run in this process as there may be: try again when one is done")
    end

    def seconds_of(query)
      given = query.split("&").filter_map { |pair| pair.delete_prefix("seconds=") if pair.start_with?("seconds=") }.last
      seconds = given.nil? ? [SECONDS, @max_seconds].min : Float(given, exception: false)
      raise Refusal.new(400, "seconds must be a number above 0, got #{given[0, 50].inspect}") unless seconds&.positive? && seconds.finite?
      raise Refusal.new(400, "seconds must be at most #{@max_seconds}") if seconds > @max_seconds

      seconds
    end

    def admitted
      @lock.synchronize do
        raise Refusal.new(429, "#{@callers} callers wait for a profile already") if @callers >= @max_callers

        @callers += 1
      end
      begin
        yield
      ensure
        @lock.synchronize { @callers -= 1 }
      end
    end
  end
end
