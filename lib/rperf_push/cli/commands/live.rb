# frozen_string_literal: true

require_relative "../../remote/live_feed"
require_relative "../options"
require_relative "../processes"
require_relative "../web_ui"
require_relative "../trace_request"

module RperfPush
  module CLI
    module Commands
      # rperf-push live: the page, growing while processes run. A session on demand in each of them, for as long as the command runs; with
      # --trace every call of theirs, for as long as a page is open.
      class Live
        STATE = "view=tree&value=wall" # a thread that waits has no CPU time to be seen by
        TRACE_STATE = "view=tree&value=elapsed"
        MODES = "cpu,wall,alloc,heap" # the page switches between their values
        LOOK_AGAIN = 2 # seconds, for further processes of a service

        def help = "usage: rperf-push live [OPTIONS] [PID...] [--service NAME]\n#{Options.help("live")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, pids = Options.parse("live", arguments)
          check(pids)
          interval_ms = (ControlOptions.interval("live", @options[:interval]) * 1000).round
          @feed = feed(interval_ms)
          pids.uniq.each { |pid| Processes.told("live") { @feed.follow(Processes.named("live", [pid])) } }
          Processes.told("live") { follow_service(pids) } if @service
          WebUi.serve("live", app(pids, interval_ms), @options)
          0
        end

        private

        def app(pids, interval_ms)
          state = trace? ? TRACE_STATE : STATE
          PageApp.new(title(pids), -> { [] }, state:, source: @feed.sources, live: { feed: @feed, interval_ms:, trace: trace? })
        end

        def check(pids)
          @service = @options[:service]
          TraceRequest.refuse_stray("live", @options, TraceOptions::LIVE) unless trace?
          raise Error, "live needs the pid of a process, or --service NAME; rperf-push ps lists both" if pids.empty? && !@service
        end

        def trace? = @options[:trace] == true

        def feed(interval_ms)
          return LiveFeed.new(frequency: @options[:frequency], mode: MODES, interval_ms:) unless trace?

          ended = ->(pid, why) { Printer.err "rperf-push: live: process #{pid} is not traced any more: #{why}" }
          LiveFeed.new(trace: true, ended:, interval_ms:, **TraceRequest.of("live", @options))
        end

        def title(pids) = "#{[*@service, *("process #{pids.join(", ")}" if pids.any?)].join(", ")}, live"

        # Workers come and go.
        def follow_service(pids)
          follow_new
          raise Error, "live: no process of #{@service.inspect} listens; rperf-push ps lists those that do" if pids.empty? && members.empty?

          Thread.new do
            loop do
              sleep LOOK_AGAIN
              follow_new
            end
          end
        end

        def members = Processes.all.select { |one| one["application"] == @service }.map { |one| one["pid"] }

        def follow_new
          members.each do |pid|
            @feed.follow(ControlClient.of(pid)) unless @feed.follows?(pid)
          rescue ControlClient::Refused, SystemCallError
            next # it has ended meanwhile
          end
        end
      end
    end
  end
end
