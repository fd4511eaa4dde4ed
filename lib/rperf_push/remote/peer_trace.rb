# frozen_string_literal: true

require_relative "../calls/call_trace"

module RperfPush
  # Traces this process for a peer. ext/rperf_push/ruby/calls/rb_call_attach.c calls it, in a thread of its own.
  class PeerTrace
    THREAD_NAME = "rperf-push trace"

    # @return [PeerTrace] which has not begun
    #
    # @param follows [Boolean] whether the peer wants updates
    # @param given [Array(Array<String>, Array<String>, Array<String>)] `mode` as on the command line, `only` and `except` of
    #   {CallFilter}, as {ControlClient} escapes them; each may be empty
    def self.prepare(max_nodes, c_methods, blocks, follows, given)
      Thread.current.name = THREAD_NAME
      Thread.current.report_on_exception = false
      modes, only, except = given.map { |list| list.map { |text| plain(text) } }
      mode = modes.empty? ? :wall : CallTrace.modes_in(modes.last)
      new(CallTrace.new(mode:, c_methods:, blocks:, max_nodes:, only: (only if only.any?), except:), follows)
    end

    def self.plain(pattern) = pattern.b.gsub(/%(\h\h)/) { $1.hex.chr }.force_encoding(Encoding::UTF_8)
    private_class_method :plain

    def initialize(trace, follows)
      @trace = trace
      @follows = follows
    end

    # @return [void]
    def begin = @trace.start(outside: true, follows: @follows)

    # (see CallTrace#pause)
    def pause = @trace.pause
    # (see CallTrace#resume)
    def resume = @trace.resume
    # (see CallUpdates#next)
    def update = @trace.update

    # @return [String] the tree as JSON
    def result = @trace.tree.to_json
  end
end
