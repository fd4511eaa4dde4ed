# frozen_string_literal: true

require_relative "../base/printable"
require_relative "values"

module RperfPush
  # Sums the samples of a data Hash by function: self time, total time, lines, callers and callees.
  class Graph
    Function = Struct.new(:index, :path, :label, :self_ns, :total_ns) do
      def to_s = Printable.line(path.empty? ? label : "#{label} (#{path})")
    end
    Line = Struct.new(:number, :self_ns, :total_ns)

    # @param value [Symbol, nil] one of {Values.names}; nil means the weight
    # @param detailed [Boolean] also sums lines, callers and callees
    def initialize(data, value: nil, detailed: false)
      samples = Values.samples(data)
      column = Values.column(data, value)
      functions, @lines, @edges = Native.call_graph(samples, column, detailed)
      @functions = functions.each_with_index.map { |(path, label, own, total), index| Function.new(index, path, label, own, total) }
      @total = column ? column.sum : samples.sum { |sample| sample[1] }
      @samples = samples
      @squares = Values.squares(data, value)
    end

    attr_reader :functions, :total

    def by_self = @by_self ||= functions.reject { |function| function.self_ns.zero? }.sort_by { |one| [-one.self_ns, one.label] }
    def by_total = @by_total ||= functions.sort_by { |one| [-one.total_ns, one.label] }

    # @return [Boolean] whether the data says how precise it is
    def precise? = !@squares.nil?

    # @param key [Symbol] :self_ns or :total_ns
    # @return [Float, nil] two standard errors; nil: the data does not say
    def error_of(function, key) = (2 * Math.sqrt(squared_errors[function.index].public_send(key) * squares_unit) if precise?)

    def percent(part, whole = total) = whole.zero? ? 0.0 : part * 100.0 / whole

    # @return [Array<Line>] the known lines, in order
    def lines_of(function)
      @lines_by ||= @lines.group_by(&:first)
      (@lines_by[function.index] || []).map { |_, number, own, total| Line.new(number, own, total) }
                                       .reject { |line| line.number.zero? }.sort_by(&:number)
    end

    # @return [Array<Array(Function, Integer)>] in descending order
    def callers_of(function)
      @by_callee ||= @edges.group_by { |edge| edge[1] }
      sorted(@by_callee[function.index], 0)
    end

    def callees_of(function)
      @by_caller ||= @edges.group_by(&:first)
      sorted(@by_caller[function.index], 1)
    end

    private

    # Functions are numbered by the samples' order, whatever their weights are.
    def squared_errors
      @squared_errors ||= begin
        column = @squares.map { |squares| squares / squares_unit }
        Native.call_graph(@samples, column, false).first.map { |path, label, own, total| Function.new(nil, path, label, own, total) }
      end
    end

    # So large that a sum fits into 63 bits.
    def squares_unit = @squares_unit ||= (@squares.sum >> 62) + 1

    def sorted(edges, end_at)
      (edges || []).map { |edge| [functions[edge[end_at]], edge[2]] }.sort_by { |function, total| [-total, function.label] }
    end
  end
end
