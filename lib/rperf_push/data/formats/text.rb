# frozen_string_literal: true

require_relative "../graph"
require_relative "../../base/printable"
require_relative "../values"

module RperfPush
  # The text report: a header, functions by self time ("Flat"), functions by total time ("Cumulative"): the headings are rperf's.
  module Text
    LIMIT = 50
    ERRORS = "±: two standard errors of sampling\n"
    NOTHING = "No samples recorded.\n"
    NAME_WIDTH = 60 # from which ± stands in no column any more

    module_function

    # @param value [Symbol, nil] one of the data's values; nil means the weight
    # @param errors [Boolean] two standard errors behind each function, if the data says how precise it is
    # @return [String]
    def encode(data, limit: LIMIT, value: nil, errors: false)
      return NOTHING if Values.nothing?(data)

      legend = ERRORS if errors && Values.squares(data, value)
      Printable.text("#{header(data, value)}#{legend}\n#{tables(data, limit:, value:, errors:)}")
    end

    def header(data, value = nil)
      samples = Values.samples(data)
      column = Values.column(data, value)
      total = column ? column.sum : samples.sum { |sample| sample[1] }
      name = value || Values.names(data).first
      lines = ["Total: #{quantity(total, data, name).sub(/ (?=ms\z|KB\z)/, "")} (#{name})",
               "Samples: #{data[:sampling_count] || samples.size}, Frequency: #{data[:frequency]}Hz"]
      [*lines, *reached(data), *gc_line(data, value, total), *lost_line(data)].map { |line| "#{line}\n" }.join
    end

    # @return [Array<String>] a line, where a busy thread has fewer samples than were asked for
    def reached(data)
      came = data[:effective_frequency].to_i
      return [] unless came.positive? && came < data[:frequency].to_i

      ["Reached: #{came}Hz of CPU time, as the kernel ticks every #{format("%g", (1000.0 / came).round(1))} ms"]
    end

    # @return [String] the flat and the cumulative table
    def tables(data, limit: LIMIT, value: nil, errors: false)
      graph = Graph.new(data, value:)
      name = value || Values.names(data).first
      rows = { "Flat" => [graph.by_self, :self_ns], "Cumulative" => [graph.by_total, :total_ns] }
      tables = rows.map do |title, (functions, key)|
        table(title, functions.first(limit), key, graph, errors && graph.precise?) { |number| quantity(number, data, name) }
      end
      tables.join("\n")
    end

    # @yieldreturn [String] a number with its unit
    def table(title, functions, key, graph, errors, &amount)
      width = errors ? [functions.map { |function| function.to_s.size }.max || 0, NAME_WIDTH].min : 0
      " #{title}:\n" + functions.map do |function|
        error = errors ? error(graph.error_of(function, key), &amount) : ""
        format("%<amount>18s %<percent>5.1f%%  %<function>-#{width}s%<error>s",
               amount: yield(function[key]), percent: graph.percent(function[key]), function:, error:).rstrip << "\n"
      end.join
    end

    # Nothing where the number is exact.
    def error(error) = error.positive? ? "  ± #{yield(error.round)}" : ""

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
