# frozen_string_literal: true

require_relative "call_tree"

module RperfPush
  # What {RperfPush.trace} returns, made of a tree.
  module CallData
    DEEPEST = 512 # frames of a sample, as of sampled ones
    TIMES = %i[wait blocked waiting gc].freeze # besides self time

    module_function

    # @param modes [Array<Symbol>]
    # @return [Hash]
    def of(tree, modes)
      { mode: modes.one? ? modes.first : modes, frequency: 0, start_time_ns: tree.start_time_ns, duration_ns: tree.duration_ns,
        trigger_count: 0, sampling_count: tree.calls, sampling_time_ns: tree.overhead_ns, detected_thread_count: tree.threads.size,
        unique_frames: tree.methods.size, unique_stacks: tree.nodes.size, **samples(tree, modes), label_sets: [{}], tree: }
    end

    # A stack for each node: its self time, and how often it was called.
    def samples(tree, modes)
      nodes = tree.nodes.select { |node| (node.calls + node.self + node.wait).positive? }
      own = OWN.fetch(modes.first)
      frames = frames(tree)
      { aggregated_samples: nodes.map { |node| [frames[node.id], own.call(node), node.thread_number, 0] },
        values: values(nodes, modes), units: units(modes) }
    end

    def units(modes)
      { calls: "count", **TIMES.to_h { |time| [time, Values::NANOSECONDS] }, **(modes.include?(:alloc) ? { alloc_objects: "count" } : {}) }
    end

    # A caller's frames are the end of those of what it calls, and Ruby keeps the end of an Array in the same memory: so one chain
    # of calls takes one, however deep it is. Those that are cut off take one each.
    #
    # @return [Array<Array>] by node
    def frames(tree)
      all = Array.new(tree.nodes.size)
      tree.nodes.reverse_each do |node|
        own = all[node.id] ||= node.frames(DEEPEST)
        parent = node.parent
        all[parent.id] ||= own.drop(1) if parent&.target && own.last != CallTree::Node::TRUNCATED
      end
      all
    end

    # By name, a column each, without the weight.
    def values(nodes, modes)
      others = OWN.slice(*modes.drop(1)).transform_keys { |mode| Values::WEIGHTS.fetch(mode, mode) }
      { calls: :calls.to_proc, **TIMES.to_h { |time| [time, time.to_proc] }, **others }.transform_values { |own| nodes.map(&own) }
    end

    # What a node has of it without those below.
    OWN = { wall: :self.to_proc, cpu: :cpu.to_proc, alloc: :allocations.to_proc }.freeze
    private_constant :OWN
    private_class_method :samples, :frames, :values
  end
end
