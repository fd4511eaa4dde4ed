# frozen_string_literal: true

# child.rb - one measured run in a process of its own. Told what to do by the runner, it answers on file descriptor 3.
#
# Nothing is loaded that the workload or the profiler does not need: what is loaded changes the heap, and the heap the cost.

require_relative "usage"

order = Marshal.load(ARGV.fetch(0).unpack1("m"))
require_relative "../workloads/#{order[:workload]}"
require_relative "profilers/#{order[:profiler]}"

# "twenty_methods" is TwentyMethods.
constant = ->(name) { Object.const_get(name.split("_").map(&:capitalize).join) }
workload = constant[order[:workload]].new(**order[:arguments])
profiler = constant["#{order[:profiler]}_profiler"].new(**order[:settings])

profiler.load
workload.prepare if workload.respond_to?(:prepare)
GC.start
profiler.start
workload.run(order[:warm_up]) if order[:warm_up].positive?

first_stats = profiler.stats
before = Usage.now
said = workload.run(order[:count])
worked = Usage.now
stats = [first_stats, profiler.stats]
finishing = Usage.now
profiler.stop
finished = Usage.now

answer = worked.since(before).merge(
  stop_cpu: finished.since(finishing)[:cpu], peak: Usage.memory.last, stats:, said: (said if said.is_a?(Hash)),
  self_times: order[:self_times] ? profiler.self_times : nil
)
IO.for_fd(3, "wb").write(Marshal.dump(answer))
