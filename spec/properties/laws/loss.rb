# frozen_string_literal: true

module Properties
  class Laws
    # What is reported as lost is what is missing, to the payload: of a program that ends its profiling itself, and says its counters.
    class Loss
      def initialize(way, outcome)
        @way = way
        @outcome = outcome
      end

      # @return [Array<String>]
      def breaches
        fact = @outcome.fact(:stats) or return []
        @stats = fact[:stats]
        @stored = @outcome.stored.select { |one| one.labels.to_h["pid"] == fact[:pid].to_s }
        [*ends, *arrivals, *line, *time]
      end

      private

      def dropped = @stats.select { |name, _| name.start_with?("payloads_dropped_") }.values.sum
      def breach(what, got, wanted) = wanted === got ? [] : ["#{what}: #{got}, #{wanted} by its counters"]

      def ends = breach("payloads closed", @stats[:payloads_created], @stats.values_at(:payloads_delivered, :payloads_unconfirmed, :queue_payloads).sum + dropped)
      def arrivals = breach("payloads that came", @stored.size, @stats[:payloads_delivered]..@stats.values_at(:payloads_delivered, :payloads_unconfirmed).sum)

      # The log has a line for what the shutdown gave up; children have theirs.
      def line
        lost = @stats[:payloads_dropped_shutdown]
        said = @outcome.err.scan(/profiles lost: (\d+)/).flatten.map(&:to_i)
        lost.zero? || said.any? { |number| number >= lost } ? [] : ["profiles lost by the log: #{said}, #{lost} by its counters"]
      end

      # What came is as much as was encoded, if all of it came.
      def time
        came = @stored.sum { |one| Seen.new([RperfPush::Formats.decode(one.raw, "a push")]).sum(:cpu) }
        whole = @stored.size == @stats[:payloads_created]
        breach("CPU time that came", came, whole ? @stats[:cpu_ns_encoded] : 0..@stats[:cpu_ns_encoded])
      end
    end
  end
end
