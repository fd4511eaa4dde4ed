# frozen_string_literal: true

module RperfPush
  # What a thread was doing when it was sampled, as labels say it: the core's table (core/sampling/states.h).
  module States
    # The frame is that of sperf, the title that of `stat`.
    State = Struct.new(:number, :key, :value, :frame, :title)

    ALL = Native.states.map { |row| State.new(*row.map(&:freeze)).freeze }.freeze
    BY_LABEL = ALL.to_h { |state| [[state.key, state.value], state] }.freeze
    KEYS = ALL.map(&:key).uniq.freeze
    # What the profiler's own labels are called on servers, unless the option label_names says otherwise.
    SENT_AS = { "%GVL": :gvl_state, "%GC": :gc_phase, "%pid": :pid }.freeze

    module_function

    # @param set [Hash] labels; keys may be Strings or Symbols
    # @return [State, nil] nil: it ran
    def of(set)
      key, value = set.find { |name, _| KEYS.include?(name.to_s) }
      key && BY_LABEL[[key.to_s, value.to_s]]
    end
  end
end
