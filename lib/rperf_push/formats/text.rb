# frozen_string_literal: true

require_relative "../graph"
require_relative "../values"

module RperfPush
  # The text report: a header, functions by own time, functions by cumulative time.
  module Text
    LIMIT = 50

    module_function

    # @param value [Symbol, nil] one of the data's values; nil means the weight
    # @return [String]
    def encode(data, limit: LIMIT, value: nil)
      "#{header(data, value)}\n#{tables(data, limit:, value:)}"
    end

    def header(data, value = nil)
      samples = Values.samples(data)
      column = Values.column(data, value)
      total = column ? column.sum : samples.sum { |sample| sample[1] }
      name = value || Values.names(data).first
      lines = ["Total: #{quantity(total, data, name).sub(/ (?=ms\z|KB\z)/, "")} (#{name})",
               "Samples: #{data[:sampling_count] || samples.size}, Frequency: #{frequency(data)}"]
      [*lines, *gc_line(data, value, total), *lost_line(data)].map { |line| "#{line}\n" }.join
    end

    # What was asked for and, where fewer samples of a busy thread came, how many and why.
    def frequency(data)
      asked = data[:frequency]
      came = data[:effective_frequency].to_i
      return "#{asked}Hz" unless came.positive? && asked.is_a?(Integer) && came < asked

      format("%<asked>dHz (%<came>dHz of CPU time: the kernel ticks every %<tick>g ms)", asked:, came:, tick: (1000.0 / came).round(1))
    end

    # @return [String] the flat and the cumulative table
    def tables(data, limit: LIMIT, value: nil)
      graph = Graph.new(data, value:)
      name = value || Values.names(data).first
      rows = { "Flat" => [graph.by_self, :self_ns], "Cumulative" => [graph.by_total, :total_ns] }
      tables = rows.map do |title, (functions, key)|
        table(title, functions.first(limit), key, graph) { |number| quantity(number, data, name) }
      end
      tables.join("\n")
    end

    # @yieldreturn [String] a number with its unit
    def table(title, functions, key, graph, &amount)
      " #{title}:\n" + functions.map do |function|
        format("%<amount>18s%<error>s %<percent>5.1f%%  %<function>s\n",
               amount: yield(function[key]), error: error(graph, function, key, &amount), percent: graph.percent(function[key]), function:)
      end.join
    end

    # A column, if the data says how precise it is: two standard errors, and nothing where the number is exact.
    def error(graph, function, key)
      return "" unless graph.precise?

      error = graph.error_of(function, key)
      format(" %14s", ("± #{yield(error.round)}" if error.positive?))
    end

    # "12.3 ms", or a number with the value's unit.
    def quantity(number, data, name)
      case unit = Values.unit(data, name)
      when Values::NANOSECONDS then format("%.1f ms", number / 1e6)
      when "bytes" then format("%.1f KB", number / 1024.0)
      else "#{number.to_s.gsub(/(\d)(?=(\d{3})+\z)/, '\1,')} #{unit}"
      end
    end

    def gc_line(data, value, total)
      return [] if total.zero? || Values.label_sets(data).none? { |set| Values.in_gc?(set) }

      sum = Values.sums(data, value) { |set| Values.in_gc?(set) }[true]
      [format("GC: %.1fms (%.1f%%)", sum / 1e6, sum * 100.0 / total)]
    end

    # Time that did not fit is in special frames. Totals stay true, but the reader should know.
    def lost_line(data)
      overflowed = Values.samples(data).sum { |frames, weight| frames.size == 1 && frames[0][1] == "(overflow)" ? weight : 0 }
      [*(format("Not attributed (too many stacks): %.1fms", overflowed / 1e6) if overflowed.positive?),
       *("Lost: #{data[:lost]}" if data[:lost])]
    end
    private_class_method :table, :error, :gc_line, :lost_line
  end
end
