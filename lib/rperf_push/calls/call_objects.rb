# frozen_string_literal: true

module RperfPush
  # The objects that traced calls create, by class, file and line.
  module CallObjects
    # Objects of one class that one line creates. The path is that of the innermost code in Ruby, and bytes are those on Ruby's heap.
    Allocation = Struct.new(:class_name, :path, :line, :objects, :bytes) do
      # The most objects first.
      def order = [-objects, -bytes, class_name, path, line]
    end

    module_function

    # @param columns [Hash] `kinds` and `texts` as of Native.calls_result; without them nothing is told apart
    # @return [Hash{Integer => Array<Allocation>}] by node
    def by_node(columns)
      texts = columns[:texts]
      kinds = columns[:kinds] || []
      kinds.group_by(&:first).transform_values do |rows|
        merged(rows.map { |_, class_name, path, *numbers| Allocation.new(texts[class_name], texts[path], *numbers) })
      end
    end

    # @param list [Array<Allocation>]
    # @return [Array<Allocation>] one of each class, file and line, the most objects first
    def merged(list)
      list.group_by { |one| [one.class_name, one.path, one.line] }
          .map { |key, same| Allocation.new(*key, same.sum(&:objects), same.sum(&:bytes)) }
          .sort_by(&:order)
    end
  end
end
