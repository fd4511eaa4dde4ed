# frozen_string_literal: true

require_relative "graph"
require_relative "formats/text"

module RperfPush
  # What differs between two profiles, function by function: by their time, or by their shares of the whole.
  class Difference
    NOTHING = 0.0005 # of the target: what would read 0.0 %

    Row = Struct.new(:label, :path, :base, :target, :base_share, :target_share, :base_total, :target_total) do
      def to_s = Printable.line(path.empty? ? label : "#{label} (#{path})")
    end
    # `error` is two standard errors; nil: a file does not say how precise it is.
    Change = Struct.new(:row, :by, :error) do
      def chance? = !error.nil? && by.abs <= error
      def place = [chance? ? 1 : 0, -by.abs, row.label]
    end

    # @param relative [Boolean] shares: the base is scaled to the target's total; else times
    def initialize(base, target, value: nil, relative: false)
      @data = target
      @names = [base, target].map { |data| Values.names(data).first }
      @value = value || @names.last
      raise ArgumentError, "they measure different things: #{@names.join(", ")}" if value.nil? && @names.uniq.size > 1

      @base, @target = [base, target].map { |data| Graph.new(data, value:) }
      @relative = relative
      @bases = [base, target]
    end

    def rows
      @rows ||= functions.map { |key, (before, after)| row(key, before, after) }
    end

    # Those with time of their own, the most changed first.
    def by_change
      own = rows.reject { |one| one.base.zero? && one.target.zero? }
      own.sort_by { |one| [-(one.target_share - one.base_share).abs, one.label] }
    end

    # @return [String] both totals, then self and total (named as in rperf), most changed first, and what chance explains last
    def text(limit:)
      tables = { "Flat" => %i[base target self_ns], "Cumulative" => %i[base_total target_total total_ns] }.map do |title, keys|
        [title, changes(*keys).first(limit)]
      end
      "#{totals}#{legend(tables)}\n#{tables.map { |title, changes| table(title, changes) }.join("\n")}"
    end

    # @return [Hash]
    def summary
      base, target = @bases.map { |data| { total_ms: (data[:duration_ns].to_i / 1e6).round(1), **counts(data) } }
      (base.keys & target.keys).flat_map do |key|
        [[:"#{key}_base", base[key]], [:"#{key}_head", target[key]], [:"#{key}_delta", (target[key] - base[key]).round(1)]]
      end.to_h
    end

    private

    # @return [Hash] [label, path] => the function in the base and in the target; nil where it is not
    def functions
      @functions ||= begin
        before, after = [@base, @target].map { |graph| graph.functions.to_h { |one| [[one.label, one.path], one] } }
        (before.keys | after.keys).to_h { |key| [key, [before[key], after[key]]] }
      end
    end

    def row((label, path), before, after)
      own, total = %i[self_ns total_ns].map { |key| [before, after].map { |function| function ? function[key] : 0 } }
      Row.new(label, path, *own, @base.percent(own.first), @target.percent(own.last), *total)
    end

    def scale = !@relative || @base.total.zero? ? 1.0 : @target.total.to_f / @base.total
    def amount(number) = Text.quantity(number, @data, @value)

    # "Total: 278.0 → 896.0 ms, +222.3 % (cpu)"
    def totals
      before, after = [@base, @target].map { |graph| amount(graph.total) }
      unit = after[/ .*/m]
      change = format(", %+.1f %%", (@target.total - @base.total) * 100.0 / @base.total) unless @base.total.zero?
      "Total: #{before.delete_suffix(unit)} → #{after}#{change} (#{@value})#{"; shares: the base is scaled to the target" if @relative}\n"
    end

    def legend(tables)
      changes = tables.flat_map(&:last)
      [*(Text::ERRORS if changes.any? { |change| change.error&.positive? }),
       *("~: within them, so no change that these samples can tell\n" if changes.any?(&:chance?))].join
    end

    def table(title, changes)
      lines = changes.map do |change|
        by = "#{"+" if change.by.positive?}#{amount(change.by)}"
        "#{mark(change)}#{format("%18s%s %+6.1f%%", by, error_text(change), @target.percent(change.by))}  #{change.row}\n"
      end
      " #{title}:\n#{lines.empty? ? "       no difference\n" : lines.join}"
    end

    def precise? = @base.precise? && @target.precise?
    def mark(change) = ("#{change.chance? ? "~" : " "} " if precise?)
    def error_text(change) = (format(" %14s", ("± #{amount(change.error.round)}" if change.error.positive?)) if precise?)

    # @return [Array<Change>] what the samples can tell first, and the largest first
    def changes(before, after, key)
      all = functions.keys.zip(rows).map { |name, one| Change.new(one, (one[after] - (one[before] * scale)).round, error(name, key)) }
      all.reject { |change| change.by.abs <= NOTHING * @target.total }.sort_by(&:place)
    end

    # Errors of two profiles add up as their squares do.
    def error(name, key)
      before, after = functions[name].zip([@base, @target]).map { |function, graph| function ? graph.error_of(function, key) : 0 }
      Math.hypot(before * scale, after) if precise?
    end

    def counts(data)
      gc = data[:gc_stats] || {}
      { allocated_objects: gc[:allocated_objects], gc_count_minor: gc[:minor_count], gc_count_major: gc[:major_count] }.compact
    end
  end
end
