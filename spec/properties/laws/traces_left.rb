# frozen_string_literal: true

module Properties
  class Laws
    # Nothing is left after a session.
    class TracesLeft
      MOST_GROWTH_KB = 1024 # of forty sessions

      def initialize(plan, way, outcome)
        @plan = plan
        @way = way
        @outcome = outcome
      end

      # @return [Array<String>]
      def breaches
        root = @outcome.truth.find { |fact| fact[:before] && fact[:part] == @plan.root.number } or return []
        [*files, *records, *growth, *(changes(root) if @way.inner_only?)]
      end

      private

      # A process that was killed can not remove its socket: the next one does.
      def files
        left = @outcome.left.grep_v(/\.sock\z/)
        left.empty? ? [] : ["files are left: #{left.first(3).inspect}"]
      end

      # What is there of it when the next one begins.
      def records
        fact = @outcome.fact(:threads_kept) or return []
        [*("records of #{fact[:threads_kept]} threads are kept that have ended" if fact[:threads_kept].positive?),
         *("labels of it are in the next session: #{fact[:labels_kept]}" if fact[:labels_kept].any?)]
      end

      def growth
        fact = @outcome.fact(:grown_kb) or return []
        fact[:grown_kb] > MOST_GROWTH_KB ? ["#{fact[:grown_kb]} KiB of memory are left of many sessions"] : []
      end

      def changes(root)
        root[:before].keys.reject { |key| root[:before][key] == root[:after][key] }.map { |key| "#{key} before and after: #{root[:before][key]}, #{root[:after][key]}" }
      end
    end
  end
end
