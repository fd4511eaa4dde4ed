# frozen_string_literal: true

require_relative "../profiler"

# A session on demand, which may sample faster than a continuous one. Options: engine, defer, and block (one is over when
# the measuring begins).
class RperfPushOnDemandProfiler < Profiler
  def load = require("rperf_push")

  def start
    RperfPush.start(frequency: @hz, mode: %i[cpu wall], lines: true, **@options.except(:block))
    RperfPush.profile { nil } if @options[:block]
  end

  def stop = RperfPush.stop
  def stats = RperfPush.stats
end
