# frozen_string_literal: true

require_relative "tables"

module RperfPush
  module CallReports
    # What traced calls created, by class, method, file and line.
    module Objects
      HEADING = "      objects         bytes   class in method (where)\n"

      module_function

      # @param limit [Integer, nil] rows with the most objects; nil: all
      # @return [String]
      def table(tree, limit: nil)
        lines = Tables.head_lines(tree)
        return [*lines, "Objects were not counted: mode alloc counts them\n"].join("\n") unless tree.allocations?

        found = (of_methods(tree) + of_roots(tree)).sort_by { |one, name| [one.order, name] }
        [*lines, "", HEADING].join("\n") + found.first(limit || found.size).map { |one, name| row(one, name) }.join
      end

      def of_methods(tree) = tree.methods.flat_map { |method| method.allocated.map { |one| [one, method.label] } }
      def of_roots(tree) = tree.threads.flat_map { |thread| thread.root.allocated.map { |one| [one, Tables.thread_name(thread)] } }

      def row(one, name)
        place = one.line.positive? ? " (#{one.path}:#{one.line})" : ""
        "#{format("%13d %13d", one.objects, one.bytes)}   #{Printable.line("#{one.class_name} in #{name}#{place}")}\n"
      end
      private_class_method :of_methods, :of_roots, :row
    end
  end
end
