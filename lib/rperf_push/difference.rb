# frozen_string_literal: true

require_relative "graph"
require_relative "formats/text"

module RperfPush
  # What differs between two profiles, function by function: by their shares of the whole, or by their time.
  class Difference
    NOTHING = 0.0005 # of the target: what would read 0.0 %

    Row = Struct.new(:label, :path, :base, :target, :base_share, :target_share, :base_total, :target_total) do
      def to_s = path.empty? ? label : "#{label} (#{path})"
    end

    # @param absolute [Boolean] times; else the base is scaled to the target's length
    def initialize(base, target, value: nil, absolute: false)
      @data = target
      @names = [base, target].map { |data| Values.names(data).first }
      @value = value || @names.last
      raise ArgumentError, "they measure different things: #{@names.join(", ")}" if value.nil? && @names.uniq.size > 1

      @base, @target = [base, target].map { |data| Graph.new(data, value:) }
      @absolute = absolute
      @bases = [base, target]
    end

    def rows
      @rows ||= begin
        before, after = [@base, @target].map { |graph| graph.functions.to_h { |one| [[one.label, one.path], one] } }
        (before.keys | after.keys).map { |key| row(key, before[key], after[key]) }
      end
    end

    # Those with time of their own, the most changed first.
    def by_change
      own = rows.reject { |one| one.base.zero? && one.target.zero? }
      own.sort_by { |one| [-(one.target_share - one.base_share).abs, one.label] }
    end

    # @return [String] flat and cumulative, most changed first
    def text(limit:)
      mode = @absolute ? "times" : "normalised to the target's length"
      head = "Base: #{amount(@base.total)}, target: #{amount(@target.total)} (#{@value}), #{mode}\n\n"
      head + { "Flat" => %i[base target], "Cumulative" => %i[base_total target_total] }.map do |title, (before, after)|
        table(title, before, after, limit)
      end.join("\n")
    end

    # @return [Hash]
    def summary
      base, target = @bases.map { |data| { total_ms: (data[:duration_ns].to_i / 1e6).round(1), **counts(data) } }
      (base.keys & target.keys).flat_map do |key|
        [[:"#{key}_base", base[key]], [:"#{key}_head", target[key]], [:"#{key}_delta", (target[key] - base[key]).round(1)]]
      end.to_h
    end

    private

    def row((label, path), before, after)
      own, total = %i[self_ns total_ns].map { |key| [before, after].map { |function| function ? function[key] : 0 } }
      Row.new(label, path, *own, @base.percent(own.first), @target.percent(own.last), *total)
    end

    def scale = @absolute || @base.total.zero? ? 1.0 : @target.total.to_f / @base.total
    def amount(number) = Text.quantity(number, @data, @value)

    def table(title, before, after, limit)
      lines = changes(before, after).first(limit).map do |one, change|
        format("%18s %+6.1f%%  %s\n", "#{"+" if change.positive?}#{amount(change)}", @target.percent(change), one)
      end
      " #{title}:\n#{lines.empty? ? "       no difference\n" : lines.join}"
    end

    # @return [Array<(Row, Integer)>] the largest first
    def changes(before, after)
      all = rows.map { |one| [one, (one[after] - (one[before] * scale)).round] }
      all.reject { |_, change| change.abs <= NOTHING * @target.total }.sort_by { |one, change| [-change.abs, one.label] }
    end

    def counts(data)
      gc = data[:gc_stats] || {}
      { allocated_objects: gc[:allocated_objects], gc_count_minor: gc[:minor_count], gc_count_major: gc[:major_count] }.compact
    end
  end
end
