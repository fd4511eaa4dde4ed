# frozen_string_literal: true

require_relative "call_costs"
require_relative "call_data"
require_relative "call_filter"
require_relative "call_tree"
require_relative "call_updates"

module RperfPush
  # One run of {RperfPush.trace}.
  class CallTrace
    # What {RperfPush.trace} yields.
    class Control
      def initialize(trace) = @trace = trace
      # (see CallTrace#pause)
      def pause = @trace.pause
      # (see CallTrace#resume)
      def resume = @trace.resume
    end

    MODES = %i[wall cpu alloc].freeze
    MAX_NODES = 500_000
    NODES = (1..(1 << 26))
    # Chains of our own below the caller of {RperfPush.trace}, which no tree shows: trace, run, start, resume, calls_resume.
    OWN_NODES = 5

    # @param block [Proc] is given the trace
    # @return [Hash] as {RperfPush.trace} returns it
    def self.run(block, **options)
      trace = new(**options)
      control = Control.new(trace)
      begin
        trace.start
        block.call(control)
      ensure
        trace.pause
      end
      trace.data
    end

    # @param text [String] as of the command line: `wall,alloc`
    # @return [Array<Symbol>] as given; {#initialize} checks them
    def self.modes_in(text) = text.split(",").map(&:to_sym)

    # @return [Array<Symbol>]
    attr_reader :modes

    def initialize(mode: :wall, c_methods: true, blocks: false, max_nodes: MAX_NODES, only: nil, except: nil)
      @modes = Array(mode).map { |one| StartOptions::ALIASES.fetch(one, one) }
      raise ArgumentError, "mode must be :wall, :cpu, :alloc or several, got #{mode.inspect}" unless @modes.any? && (@modes - MODES).empty?
      unless max_nodes.is_a?(Integer) && NODES.cover?(max_nodes)
        raise ArgumentError, "max_nodes must be an Integer from 1 to #{NODES.max}, got #{max_nodes.inspect}"
      end

      @filter = CallFilter.new(only:, except:)
      @arguments = [room_for(max_nodes), @modes.include?(:cpu), @modes.include?(:alloc), c_methods, blocks]
    end

    # What a call costs, measured the first time. A caller that starts in a TracePoint's block asks before: there the VM tells of no call.
    #
    # @return [Array] as of {CallCosts}
    def costs = CallCosts.of(*@arguments.drop(1))

    # @param outside [Boolean] it is for a peer of the control socket: the calls of this thread do not count
    # @param follows [Boolean] whether {#update} is called while it runs
    # @return [void]
    def start(outside: false, follows: false)
      @costs = costs
      @native = Native.calls_new(*@arguments)
      Native.calls_by(@native, Thread.current) if outside
      @updates = CallUpdates.new(@native, @filter, @costs) if follows
      raise "calls are traced already" unless resume
    end

    # From now on nothing is counted, and no call's time passes.
    #
    # @return [Boolean] false if it was paused already, or did not start
    def pause = @native ? Native.calls_pause(@native) : false

    # @return [Boolean] false if calls are traced already
    def resume = Native.calls_resume(@native)

    # (see CallUpdates#next)
    def update = @updates.next

    # What was traced until the pause.
    #
    # @return [Hash]
    def data = CallData.of(tree, @modes)

    # @return [CallTree] until the pause
    def tree
      facts = Native.calls_facts(@native)
      CallTree.new(facts, Native.calls_result(@native, @filter.names(facts[:methods]), @costs))
    end

    private

    def room_for(nodes) = [nodes + OWN_NODES, NODES.max].min
  end
end
