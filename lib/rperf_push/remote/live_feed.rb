# frozen_string_literal: true

require "json"
require "monitor"
require "zlib"
require_relative ".."
require_relative "control_client"
require_relative "live_audience"
require_relative "live_trace"
require_relative "../data/named_sources"

module RperfPush
  # What running processes do, for pages that ask again and again. Each process records for us; its windows, each with what is new since the
  # one before, wait here for some time. A page that is slow or gone grows nothing and holds up none: it is told how many it has missed.
  class LiveFeed
    SECONDS_KEPT = 60
    BYTES_KEPT = 32 * 1024 * 1024
    ANSWER_BYTES = 4 * 1024 * 1024 # about: the rest is for the next answer
    GZIP = "\x1F\x8B".b.freeze
    NAMES_AGE = 5 # seconds: a look for the names of threads costs a process some microseconds a thread
    MAX_WAIT = 1 # second, until an answer without windows: a page hears that often that all go on

    # A window as it came from the process: pprof.
    Window = Struct.new(:number, :pid, :at_ms, :bytes)
    # `state` is "asked", "recording" or "ended"; `why` says why it ended; `threads` has the name of each number in the label thread_seq.
    Followed = Struct.new(:pid, :state, :why, :seen_ms, :threads)

    # @return [LiveAudience]
    attr_reader :audience
    # @return [NamedSources] what the windows have named until now
    attr_reader :sources

    # @param trace [Boolean] each call of the processes, while a page is open
    # @param ended [Proc, nil] is told the pid of a process that has ended, and why
    # @param request [Hash] arguments of the verb record, or trace
    def initialize(trace: false, ended: nil, **request)
      @trace = trace
      @ended = ended
      @request = trace ? request : { gzip: 0, **request } # we compress, so that the process need not
      @audience = LiveAudience.new
      @sources = NamedSources.new
      @windows = []
      @bytes = 0
      @next = 1
      @processes = {}
      @lock = Monitor.new
      @news = @lock.new_cond
    end

    # @return [Boolean] false also where the process has refused, or its session has ended
    def follows?(pid) = @lock.synchronize { @processes.key?(pid) && @processes[pid].state != "ended" }

    # Has a process record from now on, until it or we end.
    #
    # @param client [ControlClient]
    def follow(client)
      pid = client.pid or raise ControlClient::Refused, "the process has gone"
      one = @lock.synchronize { @processes[pid] = Followed.new(pid, "asked") }
      Thread.new { hear(client, one) }
    end

    # @param since [Integer] the `next` of the answer before; 0: all that is kept
    # @return [String] messages as the control socket has them: a document, then the windows that it names
    def answer(since)
      @audience.here
      @lock.synchronize do
        @news.wait(MAX_WAIT) if @windows.empty? || @windows.last.number < since
        windows = within(@windows.drop_while { |window| window.number < since })
        [message(ControlStream::DOCUMENT, JSON.generate(head(since, windows))),
         *windows.map { |window| message(ControlStream::PROFILE, window.bytes) }].join
      end
    end

    private

    def hear(client, one)
      @trace ? trace(client, one) : record(client, one)
      tell(one, "ended", "its session has ended")
    rescue ControlClient::Refused, FormatError, SystemCallError => e
      tell(one, "ended", e.message)
      @ended&.call(one.pid, e.message)
    end

    def trace(client, one)
      LiveTrace.new(client, @request, @audience).run { |window| window ? add(one, window) : tell(one, "recording") }
    end

    def record(client, one)
      naming = nil
      due_ms = 0
      client.connect("record", **@request) do |stream|
        while (kind, bytes = stream.read(timeout: nil))
          kind == :profile ? add(one, bytes) : tell(one, "recording")
          next unless @audience.any? && now_ms >= due_ms && !naming&.alive?

          naming = Thread.new { name_threads(client, one) }
          due_ms = now_ms + (NAMES_AGE * 1000)
        end
      end
    end

    # Windows have numbers of threads only. A process with as many peers as it serves answers late, and cuts a peer that does not read its
    # windows meanwhile: so the question has a thread of its own. The names before stay if the process does not answer.
    def name_threads(client, one)
      threads = client.ask("stacks")["threads"].to_h { |thread| [thread["seq"], thread["name"]] }
      @lock.synchronize { one.threads = threads }
    rescue ControlClient::Refused, SystemCallError
      nil
    end

    def tell(one, state, why = nil)
      @lock.synchronize do
        one.state = state
        one.why = why
        @news.broadcast
      end
    end

    def add(one, bytes)
      now = now_ms
      @sources.learn(bytes, "a window")
      bytes = Zlib.gzip(bytes, level: Zlib::BEST_SPEED) unless bytes.start_with?(GZIP)
      @lock.synchronize do
        one.seen_ms = now
        @windows << Window.new(@next, one.pid, now, bytes)
        @next += 1
        @bytes += bytes.bytesize
        @bytes -= @windows.shift.bytes.bytesize while too_much?(now)
        @news.broadcast
      end
    end

    def too_much?(now)
      @windows.any? && (@bytes > BYTES_KEPT || @windows.first.at_ms < now - (SECONDS_KEPT * 1000))
    end

    def within(windows)
      bytes = 0
      windows.take_while { |window| (bytes += window.bytes.bytesize) < ANSWER_BYTES || window.equal?(windows.first) }
    end

    def head(since, windows)
      oldest = @windows.first&.number || @next
      { next: windows.last ? windows.last.number + 1 : [since, @next].max, lost: since.zero? ? 0 : [oldest - since, 0].max, now_ms:,
        windows: windows.map { |window| { pid: window.pid, at_ms: window.at_ms } }, processes: @processes.values.map(&:to_h) }
    end

    def message(kind, bytes) = [bytes.bytesize, kind].pack("Na") << bytes.b
    def now_ms = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
  end
end
