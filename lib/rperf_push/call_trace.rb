# frozen_string_literal: true

require_relative "call_costs"
require_relative "call_filter"
require_relative "call_tree"

module RperfPush
  # One run of {RperfPush.trace}, and what it yields: it can be paused and resumed.
  class CallTrace
    MODES = %i[wall cpu].freeze
    MAX_NODES = 500_000
    NODES = (1..(1 << 26))
    DEEPEST = 512 # frames of a sample, as of sampled ones

    # @param block [Proc] is given the trace
    # @return [Hash] as {RperfPush.trace} returns it
    def self.run(block, **options)
      trace = new(**options)
      begin
        trace.start
        block.call(trace)
      ensure
        trace.pause
      end
      trace.data
    end

    def initialize(mode: :wall, c_methods: true, blocks: false, max_nodes: MAX_NODES, only: nil, except: nil)
      @modes = Array(mode)
      raise ArgumentError, "mode must be :wall, :cpu or both, got #{mode.inspect}" unless @modes.any? && (@modes - MODES).empty?
      unless max_nodes.is_a?(Integer) && NODES.cover?(max_nodes)
        raise ArgumentError, "max_nodes must be an Integer from 1 to #{NODES.max}, got #{max_nodes.inspect}"
      end

      @filter = CallFilter.new(only:, except:)
      @arguments = [max_nodes, @modes.include?(:cpu), c_methods, blocks]
    end

    # @return [void]
    def start
      @costs = CallCosts.of(*@arguments.drop(1))
      @native = Native.calls_start(*@arguments)
    end

    # From now on nothing is counted, and nobody's time passes.
    #
    # @return [Boolean] false if it was paused already, or did not start
    def pause = @native ? Native.calls_pause(@native) : false

    # @return [Boolean] false if calls are traced already
    def resume = Native.calls_resume(@native)

    # What was traced until the pause.
    #
    # @return [Hash]
    def data
      facts = Native.calls_facts(@native)
      tree = CallTree.new(facts, Native.calls_result(@native, @filter.names(facts[:methods]), @costs))
      { mode: @modes.one? ? @modes.first : @modes, frequency: 0, start_time_ns: facts[:start_time_ns], duration_ns: facts[:duration_ns],
        trigger_count: 0, sampling_count: tree.calls, sampling_time_ns: tree.overhead_ns, detected_thread_count: tree.threads.size,
        unique_frames: tree.methods.size, unique_stacks: tree.nodes.size, **samples(tree), label_sets: [{}], tree: }
    end

    private

    # A stack for each node: its own time, and how often it was called.
    def samples(tree)
      nodes = tree.nodes.select { |node| (node.calls + node.self + node.wait).positive? }
      own = OWN_TIME[@modes.first]
      { aggregated_samples: nodes.map { |node| [node.frames(DEEPEST), own.call(node), node.thread_number, 0] },
        values: values(nodes), units: { calls: "count", wait: Values::NANOSECONDS } }
    end

    # By name, a column each, without the weight.
    def values(nodes)
      { calls: :calls.to_proc, wait: :wait.to_proc, **OWN_TIME.slice(*@modes.drop(1)) }.transform_values { |own| nodes.map(&own) }
    end

    OWN_TIME = { wall: :self.to_proc, cpu: :cpu.to_proc }.freeze
    private_constant :OWN_TIME
  end
end
