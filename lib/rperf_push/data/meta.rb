# frozen_string_literal: true

require "socket"
require "time"
require_relative "graph"
require_relative "values"
require_relative "../version"

module RperfPush
  # What a JSON file begins with: where the profile is from, and what it comes to.
  module Meta
    FORMAT_VERSION = 1
    TOP_METHODS = 50

    module_function

    # @return [Hash] what the data brings along goes over what is known here
    def of(data)
      {
        format_version: FORMAT_VERSION, created_at: Time.now.utc.iso8601, ruby_version: RUBY_VERSION,
        rperf_push_version: VERSION, mode: Array(data[:mode]).join("+"), hostname: Socket.gethostname
      }.merge(data[:meta] || {})
    end

    def summary_of(data)
      {
        total_ms: ms(data[:duration_ns] || 0), cpu_ms: data[:user_ns] && ms(data[:user_ns] + data[:sys_ns].to_i),
        **gc_of(data[:gc_stats] || {}), maxrss_mb: data[:maxrss_mb], samples: data[:sampling_count],
        top_methods: top_methods(Graph.new(data))
      }.compact
    end

    def gc_of(stats)
      {
        gc_count_minor: stats[:minor_count], gc_count_major: stats[:major_count], gc_ms: stats[:time_ms]&.to_f,
        allocated_objects: stats[:allocated_objects], freed_objects: stats[:freed_objects]
      }
    end

    def top_methods(graph)
      graph.by_self.first(TOP_METHODS).map do |function|
        { name: function.label, self_pct: graph.percent(function.self_ns).round(1), total_pct: graph.percent(function.total_ns).round(1) }
      end
    end

    def ms(nanoseconds) = (nanoseconds / 1e6).round(1)
    private_class_method :gc_of, :top_methods, :ms
  end
end
