# frozen_string_literal: true

require_relative "../profiler"

# Loaded, but nothing started: what having the gem costs.
class RperfPushOffProfiler < Profiler
  def load = require("rperf_push")
end
