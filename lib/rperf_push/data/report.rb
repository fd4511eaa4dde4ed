# frozen_string_literal: true

require_relative "formats/text"
require_relative "graph"
require_relative "method_code"
require_relative "values"

module RperfPush
  # Reports on a data Hash, in the form of stackprof's: a table, one method with its callers, callees and lines, a graph, and the
  # Hash of frames. Numbers are the samples' weights (nanoseconds for time), where stackprof has counts.
  class Report
    # @param data [Hash] as {RperfPush.stop} or {RperfPush.load} returns it
    # @param value [Symbol, nil] one of its values; nil means the weight
    def initialize(data, value: nil)
      @profile = data
      @value = value || Values.names(data).first
      @other_values = value ? [] : Values.names(data).drop(1)
      @graph = Graph.new(data, value:, detailed: true)
    end

    # stackprof's Hash: frames by id, each with :name, :file, :line, :samples (self), :total_samples, :lines and :edges.
    #
    # @return [Hash]
    def data
      frames = @graph.functions.to_h { |function| [function.index, frame(function)] }
      { version: 1.0, mode: @value, interval: interval, samples: @graph.total, gc_samples: gc_total, missed_samples: 0, frames: }
    end

    # @return [String]
    def text(limit: nil)
      rows = by_self.first(limit || @graph.functions.size)
      width = [rows.map { |one| amount(one.total_ns).size }.max || 0, 10].max
      heading = format("%#{width}s    (pct)  %#{width}s    (pct)     FRAME\n", "TOTAL", "SAMPLES")
      heading + rows.map { |one| row(one, width) }.join
    end

    # Of what has nothing of the weight, such as the class of allocated objects beside times: what it has of another value.
    #
    # @param name [String, Regexp] a method's name, or a part of it
    # @param limit [Integer, nil] rows of each table of callers and callees; nil means all
    # @return [String, nil] nil if no method matches
    def method(name, limit: nil)
      functions = matching(name)
      functions.map { |function| description(function, limit) }.join("\n") if functions.any?
    end

    # @return [String] a graph for Graphviz
    def dot(limit: 100)
      shown = @graph.by_total.first(limit)
      ids = shown.to_h { |function| [function.index, true] }
      nodes = shown.map { |function| node(function) }
      edges = shown.flat_map do |function|
        @graph.callees_of(function).filter_map do |callee, total|
          "  #{function.index} -> #{callee.index} [label=#{quoted(amount(total))}];\n" if ids[callee.index]
        end
      end
      "digraph profile {\n#{(nodes + edges).join}}\n"
    end

    def print_text(limit: nil, io: $stdout) = io.print(text(limit:))
    def print_method(name, io: $stdout) = io.print(method(name) || "no method #{name}\n")
    def print_graphviz(io: $stdout) = io.print(dot)

    protected

    # All values have the same functions.
    def total_of(index) = @graph.functions[index].total_ns

    def describe(index, limit, is_other: false)
      function = @graph.functions[index]
      code = MethodCode.new(function.path, function.label, @graph.lines_of(function))
      ["#{heading(function, code.first_line)}\n",
       "  #{is_other ? @value : "samples"}: #{spent_in(function, :self_ns)} self / #{spent_in(function, :total_ns)} total\n",
       *relatives("callers", @graph.callers_of(function), function, limit),
       *relatives("callees", @graph.callees_of(function), function, limit),
       *lines_of(code)].join
    end

    private

    def amount(number) = Text.quantity(number, @profile, @value)

    def by_self = @graph.functions.sort_by { |function| [-function.self_ns, -function.total_ns, function.label] }

    def row(function, width)
      "#{spent(function.total_ns, width)}  #{spent(function.self_ns, width)}     #{Printable.line(function.label)}\n"
    end

    # @return [String] an amount and its share, in columns
    def spent(number, width) = format("%#{width}s (%5.1f%%)", amount(number), @graph.percent(number))

    def interval
      frequency = @profile[:frequency].to_i
      frequency.positive? ? 1_000_000 / frequency : 0
    end

    def frame(function)
      lines = @graph.lines_of(function)
      { name: function.label, file: function.path, line: lines.first&.number, total_samples: function.total_ns, samples: function.self_ns,
        edges: edges_of(function), lines: lines.to_h { |one| [one.number, [one.total_ns, one.self_ns]] } }
        .reject { |_, value| value.nil? || value == {} }
    end

    def edges_of(function) = @graph.callees_of(function).to_h { |callee, total| [callee.index, total] }

    def gc_total = Values.sums(@profile, @value) { |set| Values.in_gc?(set) }[true]

    def matching(name)
      exact = name.is_a?(Regexp) ? [] : @graph.by_total.select { |function| function.label == name }
      return exact if exact.any?

      pattern = name.is_a?(Regexp) ? name : /#{Regexp.escape(name)}/
      @graph.by_total.select { |function| function.label.match?(pattern) }
    end

    def description(function, limit)
      other = others.find { |report| report.total_of(function.index).positive? } unless function.total_ns.positive?
      other ? other.describe(function.index, limit, is_other: true) : describe(function.index, limit)
    end

    def heading(function, line)
      place = [function.path, line].compact.reject { |part| part == "" }.join(":")
      Printable.line(place.empty? ? function.label : "#{function.label} (#{place})")
    end

    def others = @others ||= @other_values.map { |value| self.class.new(@profile, value:) }

    # With two standard errors, if the data has them.
    def spent_in(function, key)
      error = @graph.error_of(function, key)
      certain = error.nil? || error.zero?
      "#{amount(function[key])}#{" ± #{amount(error.round)}" unless certain} #{format("(%.1f%%)", @graph.percent(function[key]))}"
    end

    def share(number) = format("%s (%.1f%%)", amount(number), @graph.percent(number))

    def relatives(title, list, function, limit)
      list = list.reject { |_, total| total.zero? }
      return [] if list.empty?

      ["  #{title}:\n"] + list.first(limit || list.size).map do |other, total|
        format("  %14s (%5.1f%%)  %s\n", amount(total), @graph.percent(total, function.total_ns), Printable.line(other.label))
      end
    end

    # The source code if it is available, else the line numbers.
    def lines_of(code)
      rows = code.rows
      rows.any? ? ["  code:\n", *rows.map { |row| code_line(row) }] : []
    end

    def code_line(row)
      columns = row.line ? "#{spent(row.line.total_ns, 12)} / #{spent(row.line.self_ns, 12)}" : ""
      format("  %44s | %5d | %s", columns, row.number, row.text&.scrub("?")).rstrip << "\n"
    end

    def node(function)
      size = 10 + (@graph.percent(function.self_ns) / 100 * 28)
      label = "#{function.label}\n#{share(function.self_ns)}\nof #{share(function.total_ns)}"
      format("  %<id>d [shape=box] [fontsize=%<size>.1f] [label=%<label>s];\n", id: function.index, size:, label: quoted(label))
    end

    def quoted(text) = "\"#{text.gsub(/["\\]/) { |found| "\\#{found}" }.gsub("\n", "\\n")}\""
  end
end
