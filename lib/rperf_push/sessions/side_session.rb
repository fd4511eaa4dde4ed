# frozen_string_literal: true

module RperfPush
  # A session on demand beside the program's own and all others, for looking into a process. It is independent of them and ends
  # with its process; a forked child has none.
  class SideSession
    ANY = 3 # any that is free, RB_RPP_SIDE in rb_threads.h

    # @param frequency [Integer] Hz
    # @param mode [Symbol, Array<Symbol>] as {RperfPush.start} has it
    # @raise [RuntimeError] as many run as there may be
    def initialize(frequency:, mode: %i[cpu wall])
      FirstSession.begins
      @number = Native.start(ANY, StartOptions.mode_bits(mode), frequency, true, true, false, StartOptions.engine_number(:auto), 0, false,
                             nil, false)
    end

    # @return [Hash, nil] what was sampled since it began, or since the last one, as {RperfPush.stop} returns it; nil: it has ended
    def snapshot = OnDemand.complete(Native.snapshot(@number, true), nil)

    # To siblings of this process, which may take what it has recorded, as {snapshot} does.
    #
    # @param cluster [String]
    def offer(cluster) = Native.offer(@number, cluster)

    # @return [Hash, nil] likewise; it ends
    def stop = OnDemand.complete(Native.stop(@number), nil)
  end
end
