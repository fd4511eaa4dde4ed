# frozen_string_literal: true

require_relative "rperf_push_testing"

# The testing build, for its count of ticks by method.
class RperfPushTicksProfiler < RperfPushTestingProfiler
  def stats = RperfPush::Native.ticks_by_method
end
