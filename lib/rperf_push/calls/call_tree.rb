# frozen_string_literal: true

require_relative "call_objects"
require_relative "call_reports"
require_relative "../base/json_text"

module RperfPush
  # Every call of a program, exactly: threads, below each of them the tree of its calls, and the methods. All times are nanoseconds.
  #
  #   tree = RperfPush.trace { work }[:tree]
  #   tree.threads.first.root.children.each { |node| puts "#{node.target.label}: #{node.called} calls, #{node.total} ns" }
  #
  # `self` is the time of a call without the calls that it makes, `wait` the time in which other threads or fibers ran, `total`
  # both, and that of all calls below. `self` and `wait` together are also `running`, `blocked`, `waiting` for the GVL, `gc` and,
  # of a fiber, `suspended`. A call that has not returned counts with the time that it has run; one that was under way when
  # the tracing began is not counted as a call. A recursive method's total is that of its outermost calls.
  class CallTree
    STATES = %i[blocked waiting gc_marking gc_sweeping suspended].freeze
    COLUMNS = [:parents, :methods, :calls, :self, :wait, :cpu, :total, *STATES, :objects].freeze
    LOSSES = { full: "Not all chains of calls are told apart: the rest is counted by method below (other), and callers' totals lack it",
               methods_full: "Not all methods are told apart: (other) has the rest",
               roots_full: "Not all threads are told apart: the last one has the rest",
               lost: "For some calls there was no memory: they are part of their caller",
               unseen_stacks: "Some threads or fibers are not in it: there were too many at a time" }.freeze

    # What was done in the time that is a method's, a node's or a relation's own, `self` and `wait`.
    module States
      # @return [Integer] of running
      def running = self.self + wait - blocked - waiting - gc - suspended
      # @return [Integer] of the GC
      def gc = gc_marking + gc_sweeping

      private

      def keep_states(values)
        @blocked, @waiting, @gc_marking, @gc_sweeping, @suspended = values
      end
    end

    # A thread, or the other fibers of a thread, which are one.
    class ThreadRoot
      # @return [Integer] from 1 on
      attr_reader :number
      # @return [String]
      attr_reader :name
      # @return [Node] its target is nil
      attr_reader :root

      def initialize(number, name, fibers, root)
        @number = number
        @name = name
        @fibers = fibers
        @root = root
      end

      # @return [Boolean] whether these are the thread's fibers, without its first
      def fibers? = @fibers
      def total = root.total
    end

    # One method, wherever it is called from.
    class MethodInfo
      include States

      # @return [Integer]
      attr_reader :id
      # @return [String] "Shop::Cart#total"
      attr_reader :label
      # @return [String] of the file; "<C method>"
      attr_reader :path
      # @return [Integer] where it begins; 0: unknown
      attr_reader :line
      # @return [Symbol] :ruby, :c, :block, :other
      attr_reader :kind
      # @return [String]
      attr_reader :class_name
      # @return [Array<Node>] its nodes
      attr_reader :call_trees
      # @return [Integer]
      attr_reader :called, :self, :wait, :cpu, :total, :blocked, :waiting, :gc_marking, :gc_sweeping, :suspended
      # @return [Integer, nil] objects that it created itself; nil: not counted
      attr_reader :allocations

      # @param outermost [Proc] whether a node's call is not within another one of the same two methods
      def initialize(id, description, sums, outermost)
        @id = id
        @outermost = outermost
        @label, @path, @line, kind, @class_name = description
        @kind = kind.to_sym
        @called, @self, @wait, @cpu, @total, @recursive, @allocations, *states = sums
        keep_states(states)
        @call_trees = []
      end

      alias calls called

      # @return [Boolean] whether it was under way more than once on one stack
      def recursive? = @recursive
      # @return [Array<CallObjects::Allocation>, nil] these objects by class, file and line, the most first; nil: not counted
      def allocated = allocations && CallObjects.merged(call_trees.flat_map(&:allocated))
      # @return [Array<Relation>] the methods that call it, the longest first; a target of nil is a thread
      def callers = relations(call_trees.map { |node| [node.parent.target, node] })
      # @return [Array<Relation>] the methods that it calls
      def callees = relations(call_trees.flat_map { |node| node.children.map { |child| [child.target, child] } })
      def frame = @frame ||= [path, label].freeze
      def inspect = "#<#{self.class} #{label} called=#{called} total=#{total} self=#{@self}>"

      private

      def relations(pairs)
        pairs.group_by(&:first).map { |target, list| Relation.of(target, list.map(&:last), @outermost) }
             .sort_by { |relation| [-relation.total, relation.target&.label.to_s] }
      end
    end

    # The calls between two methods. The total of calls within each other counts once.
    Relation = Struct.new(:target, :called, :total, :self, :wait, :allocations, *STATES) do
      include States

      def self.of(target, nodes, outermost)
        total = nodes.sum { |node| outermost.call(node) ? node.total : 0 }
        allocations = nodes.sum(&:allocations) if nodes.all?(&:allocations)
        called, own, wait, *states = [:called, :self, :wait, *STATES].map { |what| nodes.sum(&what) }
        new(target, called, total, own, wait, allocations, *states)
      end
    end

    # The nodes whose calls are not within another call between the same two methods. Each node is visited once, on the way down from
    # the roots; a number on the list is a relation whose calls end there.
    class Outermost
      def initialize(roots, methods)
        @methods = methods
        @found = {}
        @open = Hash.new(0)
        walk(roots.flat_map(&:children))
      end

      def include?(node) = @found.key?(node.id)

      private

      def walk(waiting)
        while (node = waiting.pop)
          node.is_a?(Integer) ? @open[node] -= 1 : waiting.push(enter(node)).concat(node.children)
        end
      end

      def enter(node)
        relation = ((node.parent.target&.id || -1) * @methods) + node.target.id
        @found[node.id] = true if @open[relation].zero?
        @open[relation] += 1
        relation
      end
    end

    # A method, as called by a chain of others.
    class Node
      include States

      ROOT = ["", "(root)"].freeze
      TRUNCATED = ["", "[truncated]"].freeze

      # @return [Integer] smaller than those of its children
      attr_reader :id
      # @return [Node, nil] nil: the root of a thread
      attr_reader :parent
      # @return [MethodInfo, nil] nil: the root of a thread
      attr_reader :target
      # @return [Array<Node>]
      attr_reader :children
      # @return [Integer]
      attr_reader :called, :self, :wait, :cpu, :total, :blocked, :waiting, :gc_marking, :gc_sweeping, :suspended
      # @return [Integer, nil] objects that it created itself; nil: not counted
      attr_reader :allocations

      # @return [Array<CallObjects::Allocation>, nil] these objects by class, file and line, the most first; nil: not counted
      attr_reader :allocated
      # @return [Integer] of the {ThreadRoot} that it is below
      attr_reader :thread_number

      # @param measured [Array] what is read below, in this order; the last two are missing if objects were not counted
      def initialize(id, parent, target, measured, thread_number)
        @id = id
        @thread_number = thread_number
        @parent = parent
        @target = target
        @called, @self, @wait, @cpu, @total, @blocked, @waiting, @gc_marking, @gc_sweeping, @suspended, @allocations, @allocated = measured
        @children = []
        parent&.children&.push(self)
        target&.call_trees&.push(self)
      end

      alias calls called

      # @return [Array<Node>] itself and what is above it, without the root
      def path
        nodes = []
        node = self
        while node.target
          nodes << node
          node = node.parent
        end
        nodes
      end

      # @return [Array<Array(String, String)>] of a sample: [path, label], leaf first
      def frames(limit)
        frames = []
        node = self
        while node.target && frames.size < limit
          frames << node.target.frame
          node = node.parent
        end
        frames << TRUNCATED if node.target
        frames.empty? ? [ROOT] : frames
      end

      def inspect = "#<#{self.class} #{target ? target.label : "(root)"} called=#{called} total=#{total} self=#{@self}>"
    end

    # @return [Array<ThreadRoot>]
    attr_reader :threads
    # @return [Array<MethodInfo>] the longest total first
    attr_reader :methods
    # @return [Array<Node>] parents before their children
    attr_reader :nodes
    # @return [Integer] of the tracing; the start since the epoch
    attr_reader :start_time_ns, :duration_ns
    # @return [Integer] the time of tracing itself, which is not in any other number
    attr_reader :overhead_ns
    # @return [Integer] memory of the tree while it was built
    attr_reader :bytes

    # @param facts [Hash] as of Native.calls_facts, or of {#to_h}
    # @param columns [Hash] as of Native.calls_result, or of {#to_h}
    def initialize(facts, columns)
      @facts = facts
      @columns = columns
      @start_time_ns, @duration_ns, @bytes = facts.values_at(:start_time_ns, :duration_ns, :bytes)
      @overhead_ns = columns[:overhead]
      build_methods
      build_nodes
    end

    # @return [Integer] of all methods
    def calls = methods.sum(&:called)
    # @return [Boolean] whether there were more nodes than `max_nodes`: then (other) has the methods of the rest, without chains
    def full? = @facts[:full]
    # @return [Boolean] whether allocations were counted
    def allocations? = @facts[:allocations] == true
    # @return [Array<CallObjects::Allocation>, nil] all objects by class, file and line, the most first; nil: not counted
    def allocated = allocations? ? CallObjects.merged(nodes.flat_map(&:allocated)) : nil

    # @return [Array<Symbol>] of :blocked, :waiting, :gc and :suspended those in which any time was spent
    def states
      all = methods + threads.map(&:root)
      %i[blocked waiting gc suspended].select { |state| all.any? { |one| one.public_send(state).positive? } }
    end

    # @return [Array<String>] which limits were met, and what that means
    def losses
      found = LOSSES.filter_map { |fact, text| text unless [nil, false, 0].include?(@facts[fact]) }
      unattributed_objects.positive? ? [*found, "Of #{unattributed_objects} objects neither class nor line is known"] : found
    end

    # @return [Integer] objects that are in no `allocated`: those of other Ractors, and those past a limit
    def unattributed_objects = allocations? ? nodes.sum { |node| node.allocations - node.allocated.sum(&:objects) } : 0

    # @return [Array<MethodInfo>] with that label, or with a label that matches
    def find(label) = methods.select { |method| label.is_a?(Regexp) ? method.label.match?(label) : method.label == label }

    # @param name [Symbol] :flat, :graph, :tree, :callgrind, :dot
    # @return [String]
    def report(name, **options) = CallReports.public_send(CallReports.name_of(name), self, **options)

    # @return [Hash] of numbers and texts, from which {from_h} makes the tree again
    def to_h
      { facts: { **@facts.slice(:start_time_ns, :duration_ns, :bytes, :methods, :allocations, *LOSSES.keys), roots: }, columns: @columns }
    end

    # Without the json library: a program that is traced from outside may not have loaded it.
    #
    # @return [String]
    def to_json(*) = JSONText.of(to_h)

    def self.from_h(hash) = new(hash[:facts], hash[:columns])

    # @return [String]
    def self.name_of(thread)
      return "main" if thread == Thread.main

      thread.name || thread.inspect[/\A#<Thread:\S+ (.*?) \w+>\z/m, 1] || "thread"
    end

    def inspect = "#<#{self.class} #{threads.size} threads, #{methods.size} methods, #{nodes.size} nodes>"

    private

    def build_methods
      @by_id = @facts[:methods].zip(@columns[:sums]).each_with_index.map do |(description, sums), id|
        MethodInfo.new(id, description, allocations? ? sums : [*sums.first(6), nil, *sums.drop(7)], method(:outermost?))
      end
    end

    def build_nodes
      parents, methods, *numbers = @columns.values_at(*(allocations? ? COLUMNS : COLUMNS - [:objects]))
      @nodes = []
      parents.zip(methods, *numbers) { |parent, method, *measured| @nodes << node(parent && @nodes[parent], method, measured) }
      @methods = by_total(@by_id.reject { |method| method.call_trees.empty? })
      @threads = @nodes.reject(&:parent).map { |root| thread_root(root.thread_number, root) }
    end

    def outermost?(node) = (@outermost ||= Outermost.new(threads.map(&:root), @by_id.size)).include?(node)

    def thread_root(number, root) = ThreadRoot.new(number, *roots[number - 1], root)

    def by_total(methods) = methods.sort_by { |method| [-method.total, method.label] }

    # A root's method is the number of its thread, from 0 on.
    def node(parent, method, measured)
      measured << objects_by_node.fetch(@nodes.size, []) if allocations?
      return Node.new(@nodes.size, nil, nil, measured, method + 1) unless parent

      Node.new(@nodes.size, parent, @by_id[method], measured, parent.thread_number)
    end

    def objects_by_node = @objects_by_node ||= CallObjects.by_node(@columns)

    # Names instead of threads: they may have ended, and a tree must not keep them.
    def roots
      @roots ||= @facts[:roots].map { |thread, fibers| [thread.is_a?(Thread) ? CallTree.name_of(thread) : thread, fibers] }
    end
  end
end
