# frozen_string_literal: true

require "json"
require_relative "graph"
require_relative "../base/printable"

module RperfPush
  # Tables for machines, as rperf has them: tabs between columns, or JSON; an `(other)` row for what is below the limit, and a
  # summary at the end.
  module Table
    module_function

    # @return [String]
    def report(data, format, limit:, value: nil)
      graph = Graph.new(data, value:)
      top = graph.by_self.first(limit)
      rest = graph.by_self.drop(limit)
      rows = top.map { |one| row(graph, one.label, one.self_ns, graph.percent(one.total_ns).round(2)) }
      rows << row(graph, "(other)", rest.sum(&:self_ns), nil) if rest.any?
      write(format, %w[method self_pct total_pct self_ms], rows, Meta.summary_of(data).except(:top_methods))
    end

    # @return [String] most changed first
    def diff(difference, format, limit:)
      rows = difference.by_change.map do |one|
        base, target = [one.base_share, one.target_share].map { |share| share.round(2) }
        [one.label, base, target, (target - base).round(2)]
      end
      write(format, %w[method self_pct_base self_pct_head delta_pt], rows.first(limit), difference.summary)
    end

    def row(graph, label, self_ns, total_pct) = [label, graph.percent(self_ns).round(2), total_pct, ms(self_ns)]

    def write(format, names, rows, summary)
      return "#{JSON.generate(rows.map { |row| names.zip(row).to_h.compact } << { summary: })}\n" if format == "table-json"

      lines = rows.map { |row| row.map { |cell| Printable.line(cell) }.join("\t") }
      [names.join("\t"), *lines, ["# summary", *summary.map { |key, value| "#{key}=#{value}" }].join("\t")]
        .map { |line| "#{line}\n" }.join
    end

    def ms(nanoseconds) = (nanoseconds / 1e6).round(1)
    private_class_method :row, :write, :ms
  end
end
