# frozen_string_literal: true

module RperfPush
  module CallReports
    # The reports for people: methods by self time, each one with its callers and callees, and the tree.
    module Tables
      HEADING = "      self ms      total ms       wait ms%s        calls%s   method\n"
      # Where there are any.
      STATES = { blocked: "    blocked ms", waiting: "    waiting ms", gc: "         gc ms", suspended: "  suspended ms" }.freeze
      OBJECTS = "      objects" # where they were counted
      SHALLOW = 100 # levels that are indented

      module_function

      def flat(tree, limit: nil)
        rows = tree.methods.sort_by { |method| [-method.self, method.label] }.first(limit || tree.methods.size)
        states = tree.states
        head(tree, states) + rows.map { |method| row(states, method, title(method)) }.join
      end

      # Callers above a method, callees below.
      def graph(tree, limit: nil)
        states = tree.states
        parts = tree.methods.first(limit || tree.methods.size).map { |method| relatives(states, method) }
        head(tree, states) + parts.join("#{"-" * 72}\n")
      end

      def relatives(states, method)
        callers = method.callers.map { |one| row(states, one, "    #{caller_name(one)}", "#{one.called}/#{method.called}") }
        callees = method.callees.map { |one| row(states, one, "    #{title(one.target)}", "#{one.called}/#{one.target.called}") }
        [*callers, row(states, method, "* #{title(method)}"), *callees].join
      end

      # @param limit [Integer, nil] children of each node, the longest ones
      def tree(tree, limit: nil)
        states = tree.states
        text = +head(tree, states)
        tree.threads.each do |thread|
          text << row(states, thread.root, thread_name(thread))
          add_below(text, states, thread.root, limit)
        end
        text
      end

      # Without calling itself: trees can be deeper than Ruby's own stack.
      def add_below(text, states, root, limit)
        waiting = by_total(root, limit).map { |node| [node, 1] }
        while (node, depth = waiting.pop)
          text << row(states, node, "#{"  " * [depth, SHALLOW].min}#{node.target.label}")
          waiting.concat(by_total(node, limit).map { |child| [child, depth + 1] })
        end
      end

      # The longest last.
      def by_total(node, limit)
        node.children.sort_by { |child| [-child.total, child.target.label] }.first(limit || node.children.size).reverse
      end

      # What a report is about, without the names of its columns.
      def head_lines(tree)
        ["Traced: #{ms(tree.duration_ns)}, #{tree.calls} calls, #{tree.nodes.size} nodes, #{tree.threads.size} threads",
         "Tracing itself, taken out: #{ms(tree.overhead_ns)}", *tree.losses]
      end

      def head(tree, states)
        "#{head_lines(tree).join("\n")}\n\n#{format(HEADING, STATES.values_at(*states).join, tree.allocations? ? OBJECTS : "")}"
      end

      # @param states [Array<Symbol>] that have a column
      def row(states, of, name, calls = of.called)
        objects = format("%13d", of.allocations) if of.allocations
        times = [of.self, of.total, of.wait, *states.map { |state| of.public_send(state) }].map { |ns| format("%13.3f", ns / 1e6) }
        "#{times.join(" ")} #{format("%12s", calls)}#{objects}   #{Printable.line(name)}\n"
      end

      def title(method)
        place = method.line.positive? ? " (#{method.path}:#{method.line})" : ""
        "#{method.label}#{" [recursive]" if method.recursive?}#{place}"
      end

      def caller_name(relation) = relation.target ? title(relation.target) : "(root)"
      def thread_name(thread) = "Thread #{thread.number} #{thread.name}#{" (its fibers)" if thread.fibers?}"
      def ms(nanoseconds) = format("%.3f ms", nanoseconds / 1e6)
      private_class_method :relatives, :add_below, :by_total, :head, :row, :title, :caller_name
    end
  end
end
