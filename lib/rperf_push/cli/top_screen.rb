# frozen_string_literal: true

require_relative "../data/formats/text"
require_relative "../data/graph"
require_relative "../base/printable"
require_relative "../data/values"

module RperfPush
  module CLI
    # What `rperf-push top` shows of the window that came last: shares of its length for all threads together, then methods, or
    # the values of a label.
    class TopScreen
      HEADING_ROWS = 5
      STATES = { %w[%GVL blocked] => "blocked", %w[%GVL wait] => "waiting for the GVL", %w[%GC mark] => "GC marking",
                 %w[%GC sweep] => "GC sweeping" }.freeze
      OWN_LABELS = %w[%GVL %GC %pid].freeze
      KEYS = "c CPU  w wall  a objects  v next value  t self/total  b methods/labels  / filter  f freeze  q quit"

      attr_writer :value

      # @param by [String, nil] a label's key; nil: methods
      # @param filter [String, nil] what a row must have in it
      def initialize(pid, value:, by: nil, filter: nil)
        @pid = pid
        @value = value
        @by = by
        @filter = filter.to_s
        @order = :self_ns
      end

      # @param window [Hash] as {RperfPush.stop} returns it
      def add(window) = @frozen ? @waiting = window : @window = window

      def typing? = @typing
      def begin_typing = @typing = true
      def toggle_order = @order = @order == :self_ns ? :total_ns : :self_ns

      def toggle_freeze
        @frozen = !@frozen
        @window = @waiting || @window unless @frozen
      end

      # A character of the filter.
      def type(key)
        case key
        when "\r", "\n" then @typing = false
        when "\e" then (@typing = false).then { @filter = "" }
        when "\x7F", "\b" then @filter = @filter[0...-1]
        else @filter += key if key.match?(/[[:print:]]/)
        end
      end

      # Of those that the window has, also those that the program counts itself.
      def next_value
        names = @window ? Values.names(@window) : [@value]
        @value = names[((names.index(@value) || -1) + 1) % names.size]
      end

      # Methods, then each key of the labels that are there, then methods again.
      def next_grouping
        keys = @window ? Values.label_sets(@window).flat_map(&:keys).map(&:to_s).uniq.sort - OWN_LABELS : []
        @by = [nil, *keys][([nil, *keys].index(@by) || -1) + 1]
      end

      # @return [Array<String>]
      def lines(rows)
        return ["process #{@pid}: nothing ran yet", "", KEYS] unless @window

        shown = matching(@by ? label_rows : method_rows).first([rows - HEADING_ROWS, 0].max)
        all = [heading, states, status, "", columns, *shown.map { |text, own, total| row(text, own, total) }]
        all.map { |line| Printable.line(line) }
      end

      private

      def matching(table) = table.select { |text, *| text.downcase.include?(@filter.downcase) }

      def duration = [@window[:duration_ns], 1].max
      def total(value) = Values.sums(@window, value) { |_| true }.fetch(true, 0)
      def share(nanoseconds) = format("%6.1f %%", 100.0 * nanoseconds / duration)

      def heading
        threads = @window[:aggregated_samples].map { |one| one[2] }.uniq.size
        format("process %<pid>s, %<seconds>.2f s: %<cpu>s of a core, %<threads>d threads seen%<frozen>s",
               pid: @pid, seconds: duration / 1e9, cpu: share(total(:cpu)).strip, threads:, frozen: @frozen ? "  [frozen]" : "")
      end

      # Of all threads together, so that three which are blocked are 300 %.
      def states
        sums = Values.sums(@window, :wall) { |set| STATES[state_in(set)] || "running" }
        ["running", *STATES.values].map { |state| "#{state} #{share(sums[state]).strip}" }.join("  ")
      end

      def state_in(set) = set.find { |key, _| %w[%GVL %GC].include?(key.to_s) }&.map(&:to_s)

      def status
        return "filter: #{@filter}_" if @typing

        "#{@value} by #{@by ? "label #{@by}" : "method"}#{", only #{@filter.inspect}" unless @filter.empty?}   #{KEYS}"
      end

      def columns
        names = %w[SELF TOTAL]
        names = [time? ? "SHARE" : "SUM"] if @by
        "#{names.map { |name| name.rjust(amount(0).size) }.join("  ")}  #{@by ? @by.upcase : "METHOD"}"
      end

      def row(text, own, total) = @by ? "#{amount(own)}  #{text}" : "#{amount(own)}  #{amount(total)}  #{text}"

      def time? = Values.nanoseconds?(@window, @value)
      def amount(number) = time? ? share(number) : Text.quantity(number, @window, @value).rjust(14)

      # What the program counts is not in each window.
      def counted? = Values.names(@window).include?(@value)

      def method_rows
        return [] unless counted?

        functions = Graph.new(@window, value: @value).functions
        functions.sort_by { |one| [-one.public_send(@order), one.label] }.map { |one| [one.label, one.self_ns, one.total_ns] }
      end

      def label_rows
        return [] unless counted?

        sums = Values.sums(@window, @value) { |set| (set[@by.to_sym] || set[@by] || "(none)").to_s }
        sums.sort_by { |text, sum| [-sum, text] }.map { |text, sum| [text, sum, sum] }
      end
    end
  end
end
