# frozen_string_literal: true

# A table in Markdown, its columns aligned for those who read the source: names to the left, numbers to the right.
class Table
  def initialize(*header)
    @header = header.map(&:to_s)
    @rows = []
  end

  def <<(row)
    @rows << row.map(&:to_s)
    self
  end

  def to_s
    widths = [@header, *@rows].transpose.map { |cells| cells.map(&:length).max }
    rule = widths.each_with_index.map { |width, at| at.zero? ? "-" * width : "#{"-" * [width - 1, 1].max}:" }
    [@header, rule, *@rows].map { |cells| line(cells, widths) }.join("\n")
  end

  private

  def line(cells, widths)
    aligned = cells.each_with_index.map { |cell, at| at.zero? ? cell.ljust(widths[at]) : cell.rjust(widths[at]) }
    "| #{aligned.join(" | ")} |"
  end
end
