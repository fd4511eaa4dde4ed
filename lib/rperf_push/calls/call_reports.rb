# frozen_string_literal: true

require_relative "call_reports/callgrind"
require_relative "../base/printable"
require_relative "call_reports/objects"
require_relative "call_reports/tables"

module RperfPush
  # What a {CallTree} says, as text.
  module CallReports
    NAMES = %i[flat graph tree objects callgrind dot].freeze

    module_function

    # @return [Symbol]
    # @raise [ArgumentError]
    def name_of(name)
      return name.to_sym if NAMES.include?(name.to_sym)

      raise ArgumentError, "a report must be #{NAMES.map(&:inspect).join(", ")}, got #{name.inspect}"
    end

    def flat(tree, limit: nil) = Tables.flat(tree, limit:)
    def graph(tree, limit: nil) = Tables.graph(tree, limit:)
    def tree(tree, limit: nil) = Tables.tree(tree, limit:)
    def objects(tree, limit: nil) = Objects.table(tree, limit:)
    def callgrind(tree, limit: nil) = Callgrind.encode(tree, limit:)

    # @param limit [Integer, nil] methods with the longest totals
    # @return [String] a graph for Graphviz
    def dot(tree, limit: nil)
      shown = tree.methods.first(limit || 100)
      ids = shown.to_h { |method| [method, true] }
      edges = shown.flat_map { |one| one.callees.select { |callee| ids[callee.target] }.map { |callee| edge(one, callee) } }
      "digraph calls {\n#{(shown.map { |one| box(one) } + edges).join}}\n"
    end

    def box(method)
      "  #{method.id} [shape=box] [label=#{quoted("#{method.label}\n#{Tables.ms(method.self)} of #{Tables.ms(method.total)}")}];\n"
    end

    def edge(method, callee)
      "  #{method.id} -> #{callee.target.id} [label=#{quoted("#{callee.called} x\n#{Tables.ms(callee.total)}")}];\n"
    end

    def quoted(text) = "\"#{text.gsub(/["\\]/) { |found| "\\#{found}" }.gsub("\n", "\\n")}\""
    private_class_method :box, :edge, :quoted
  end
end
