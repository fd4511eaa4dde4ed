# frozen_string_literal: true

module RperfPush
  # A snapshot of this process's resource usage, in Ruby and in the system.
  class Usage
    SYSTEM = %i[user_ns sys_ns minor_faults major_faults voluntary_switches involuntary_switches read_bytes write_bytes].freeze

    attr_reader :counters

    def initialize
      @counters = { **Native.usage, **gc }
    end

    # @param till [Usage]
    # @return [Hash] the usage for the data of a session: counters as differences, the peak of memory unchanged
    def data(till = Usage.new)
      since = since_then(till)
      { user_ns: since[:user_ns], sys_ns: since[:sys_ns], maxrss_mb: till.counters[:maxrss_bytes] / 1024 / 1024,
        gc_stats: { count: since[:gc_count], minor_count: since[:gc_minor], major_count: since[:gc_major], time_ms: since[:gc_ms],
                    allocated_objects: since[:allocated], freed_objects: since[:freed] } }
    end

    # @return [Hash] everything measured
    def all(till = Usage.new) = data(till).merge(since_then(till).slice(*SYSTEM))

    private

    def since_then(till) = till.counters.to_h { |key, value| [key, value - @counters[key]] }

    def gc
      stat = GC.stat
      { gc_count: stat[:count], gc_minor: stat[:minor_gc_count], gc_major: stat[:major_gc_count], gc_ms: stat[:time] || 0,
        allocated: stat[:total_allocated_objects], freed: stat[:total_freed_objects] }
    end
  end
end
