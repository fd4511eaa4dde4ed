# frozen_string_literal: true

module RperfPush
  module CallReports
    # The file format of callgrind, for KCachegrind and callgrind_annotate: self time by method, calls between methods with their time.
    module Callgrind
      NO_FILE = "(none)"

      module_function

      # @param limit [Integer, nil] methods with the longest totals; nil: all
      # @return [String]
      def encode(tree, limit: nil)
        names = Hash.new { |known, text| known[text] = known.size + 1 }
        methods = limit ? tree.methods.first(limit) : tree.methods
        parts = tree.threads.map { |thread| root(thread, names) } + methods.map { |method| body(method, names) }
        "#{head(tree)}#{parts.join("\n")}\ntotals: #{tree.threads.sum(&:total)}\n"
      end

      def head(tree)
        "# callgrind format\nversion: 1\ncreator: rperf-push\n" \
          "desc: Traced: #{tree.duration_ns} ns, of which tracing itself took #{tree.overhead_ns} ns\n" \
          "positions: line\nevents: Nanoseconds\n\n"
      end

      def body(method, names)
        ["fl=#{file(method, names)}\nfn=#{function(method, names)}\n#{method.line} #{own(method)}\n",
         *method.callees.map { |callee| call(callee, method.line, names) }].join
      end

      def root(thread, names)
        callees = thread.root.children.map { |node| CallTree::Relation.of(node.target, [node], :itself.to_proc) }
        name = "Thread #{thread.number} #{thread.name}#{" fibers" if thread.fibers?}"
        ["fl=#{compressed(:file, NO_FILE, names)}\nfn=#{compressed(:function, name, names)}\n0 #{own(thread.root)}\n",
         *callees.map { |callee| call(callee, 0, names) }].join
      end

      # A call has at least one, also if it began before the tracing.
      def call(callee, line, names)
        target = callee.target
        "cfl=#{file(target, names)}\ncfn=#{function(target, names)}\n" \
          "calls=#{[callee.called, 1].max} #{target.line}\n#{line} #{callee.total}\n"
      end

      def file(method, names) = compressed(:file, method.path.empty? ? NO_FILE : method.path, names)
      def function(method, names) = compressed(:function, method.label, names)

      # In this format a total is what is on the way to it: waiting belongs to the method that waits.
      def own(of) = of.self + of.wait

      # The first time with its text, then as a number.
      def compressed(kind, text, names)
        known = names.key?([kind, text])
        "(#{names[[kind, text]]})#{" #{text.tr("\r\n", "  ")}" unless known}"
      end
      private_class_method :head, :body, :root, :call, :file, :function, :own, :compressed
    end
  end
end
