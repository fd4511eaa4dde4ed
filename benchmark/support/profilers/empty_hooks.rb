# frozen_string_literal: true

require_relative "../c_extension"
require_relative "../profiler"

# No profiler, but what it would hear: see empty_hooks.c.
class EmptyHooksProfiler < Profiler
  def load = require(CExtension.build("empty_hooks"))
end
