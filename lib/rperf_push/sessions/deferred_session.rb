# frozen_string_literal: true

module RperfPush
  # The program's own session where it is deferred, seen as a {SideSession}: what looks into the process then samples only in the blocks
  # that the program chose.
  class DeferredSession
    # @return [Hash, nil] what was sampled since the last one, as {RperfPush.snapshot} returns it with `clear: true`
    def snapshot = (OnDemand.snapshot(true) if Native.deferred?)

    def offer(cluster) = Native.offer(OnDemand::OWN, cluster)

    # It is the program's.
    def stop = nil
  end
end
