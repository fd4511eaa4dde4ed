# frozen_string_literal: true

require_relative "rperf_push_on_demand"

# The testing build, which can capture without waiting for a tick: rake compile:testing.
class RperfPushTestingProfiler < RperfPushOnDemandProfiler
  LIBRARY = File.expand_path("../../../tmp/testing/lib", __dir__)

  def load
    $LOAD_PATH.unshift(LIBRARY)
    super
  end
end
