# frozen_string_literal: true

require_relative "../profiler"

# A session on demand that waits for its first `profile` block.
class RperfPushDeferredProfiler < Profiler
  def load = require("rperf_push")
  def start = RperfPush.start(frequency: @hz, mode: %i[cpu wall], defer: true)
  def stop = RperfPush.stop
  def stats = RperfPush.stats
end
