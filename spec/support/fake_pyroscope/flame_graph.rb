# frozen_string_literal: true

class FakePyroscope
  # Merged stacks as the levels of a flame graph. Each level is a list of bars, four numbers a bar: the gap to the bar
  # before, its total, its self, the index of its name.
  class FlameGraph
    Node = Struct.new(:name, :self_value, :children) do
      def total = self_value + children.sum { |_, child| child.total }
    end

    # @param stacks [Hash{Array<Frame> => Integer}] leaf first
    def initialize(stacks)
      @root = Node.new("total", 0, {})
      stacks.each { |stack, value| add(stack.reverse, value) }
    end

    # @return [Hash] the fields of the querier's FlameGraph
    def to_h
      names = {}
      bars = [[]]
      walk(@root, 0, 0, names, bars)
      { names: names.keys, levels: bars.map { |level| deltas(level) }, total: @root.total, max_self: @max_self }
    end

    private

    def add(path, value)
      leaf = path.reduce(@root) { |node, frame| node.children[frame.name] ||= Node.new(frame.name, 0, {}) }
      leaf.self_value += value
    end

    def walk(node, level, offset, names, bars)
      @max_self = [@max_self || 0, node.self_value].max
      total = node.total
      (bars[level] ||= []) << [offset, total, node.self_value, names[node.name] ||= names.size]
      offset += node.self_value
      node.children.each_value { |child| offset += walk(child, level + 1, offset, names, bars) }
      total
    end

    def deltas(bars)
      last = 0
      bars.flat_map do |offset, total, self_value, name|
        gap = offset - last
        last = offset + total
        [gap, total, self_value, name]
      end
    end
  end
end
