# frozen_string_literal: true

require "rperf_push"

module RperfPush
  module CLI
    # Prints the time of each value of one label.
    class ByLabel
      THREAD = "thread_seq" # each sample has it, outside of its labels

      # @param key [String] as the program or a server calls it: %GVL is gvl_state
      # @raise [ArgumentError] if no sample has such a label
      def initialize(data, key, value: nil)
        @data = data
        @value = value || Values.names(data).first
        @key = known(key)
        raise ArgumentError, "no label #{key}; there are #{labels.join(", ")}" unless labels.include?(@key)
      end

      # @return [String]
      def text(limit:)
        total = sums.values.sum
        rows = sums.sort_by { |name, sum| [-sum, name] }.first(limit).map do |name, sum|
          format("%18s %5.1f%%  %s\n", Text.quantity(sum, @data, @value), total.zero? ? 0 : sum * 100.0 / total, Printable.line(name))
        end
        " #{Printable.line(@key)}:\n#{rows.join}"
      end

      private

      # Where nothing has waited, nothing has the label of waiting, but it is one.
      def labels = @labels ||= (States::SENT_AS.keys + Values.label_sets(@data).flat_map(&:keys)).map(&:to_s).uniq.sort << THREAD

      def known(key) = labels.include?(key) ? key : (States::SENT_AS.key(key.to_sym) || key).to_s

      def sums
        @sums ||= @key == THREAD ? by_thread : Values.sums(@data, @value) { |set| value_of(set) }
      end

      def by_thread
        Values.weighed(@data, @value).each_with_object(Hash.new(0)) do |(_, weight, seq), sums|
          sums[seq.to_i.zero? ? "(none)" : seq.to_s] += weight
        end
      end

      # A number of another producer may have a unit.
      def value_of(set)
        _, value = set.find { |name, _| name.to_s == @key }
        value.nil? ? "(none)" : [*value].join(" ")
      end
    end
  end
end
