# frozen_string_literal: true

module RperfPush
  # What tracing one call costs on this machine, with these options: measured once in a process, the least of several tries, so that
  # no more is taken out than was there.
  module CallCosts
    TRIES = 3
    RUNS = 20 # of each program in a try: the first ones touch new memory
    CALLS = 200
    NODES = 100_000 # each frame that is open on any thread takes one, too
    KINDS = %i[other ruby c block].freeze # as in ext/rperf_push/ruby/calls/rb_call_frames.h

    @known = {}

    module_function

    # @param options [Array] as of Native.calls_new, without the first one
    # @return [Array<Array(Integer, Integer)>] for each kind, nanoseconds in the call's own node, and in its caller's
    def of(*options)
      @known[options] || measure(options).tap { |costs| @known[options] = costs if measured?(costs) }
    end

    # In a TracePoint's block the VM tells of no call, so nothing is known there.
    def measured?(costs) = costs[KINDS.index(:ruby)].sum.positive?

    def measure(options)
      untraced = least_times
      tries = Array.new(TRIES) { traced(options) }
      KINDS.map { |kind| cost(tries.filter_map { |try| try[kind] }, untraced[kind]) }
    end

    # @param tries [Array<Array(Integer, Integer)>] empty: this kind is not traced
    def cost(tries, untraced)
      return [0, 0] if tries.empty?

      took, inside = tries.transpose.map(&:min)
      each = [(took - untraced) / CALLS, 0].max
      [[inside, each].min, [each - inside, 0].max]
    end

    # @return [Hash{Symbol => Array(Integer, Integer)}] by kind, what the calls took, and one of them in its own node
    def traced(options)
      native = Native.calls_new(NODES, *options)
      begin
        raise "calls are traced already" unless Native.calls_resume(native)

        times = least_times
      ensure
        Native.calls_pause(native) # also where Timeout or Ctrl-C ends it
      end
      methods = Native.calls_facts(native)[:methods]
      sums = Native.calls_result(native, methods.each_index.to_a, KINDS.map { [0, 0] })[:sums]
      inside = times.to_h { |kind, _| [kind, own_time(kind, methods, sums)] }
      times.to_h { |kind, took| [kind, ([took, inside[kind]] if inside[kind])] }
    end

    # @return [Integer, nil] of one call
    def own_time(kind, methods, sums)
      called, own = sums[methods.index { |method| probe?(kind, method) } || 0]
      own / called if called == CALLS * RUNS
    end

    def least_times = PROGRAMS.transform_values { |program| Array.new(RUNS) { took { program.call } }.min }

    def probe?(kind, method)
      method[3] == kind && method[0].match?(kind == :block ? /\Ablock in .*yield_often/ : /[.#]nothing\z/)
    end

    def took
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      yield
      Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
    end

    def nothing = nil

    # Without a loop, whose operators would be calls, too.
    def self.repeat(name, call)
      module_eval("def self.#{name} = (#{([call] * CALLS).join("; ")})", __FILE__, __LINE__) # def self.call_c = (call; call; ...)
    end
    private_class_method :repeat

    repeat(:call_ruby, "nothing")
    repeat(:call_c, "Native.nothing")
    repeat(:yield_to, "yield")

    def yield_often = yield_to { nil }

    PROGRAMS = { ruby: method(:call_ruby), c: method(:call_c), block: method(:yield_often) }.freeze
    private_constant :PROGRAMS
  end
end
