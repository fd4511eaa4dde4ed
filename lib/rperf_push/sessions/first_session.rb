# frozen_string_literal: true

module RperfPush
  # The time from which on something is sampled in this process. Until then, integrations that were not asked for leave the program as
  # it is: in a development server that is not profiled, no backtrace has a frame of ours.
  module FirstSession
    @waiting = []

    class << self
      # @yield at once if a session has begun, else when one does
      def on_begin(&hook)
        @waiting ? @waiting << hook : hook.call
      end

      # A session of any kind begins. The hooks may load code that comes here again.
      def begins
        hooks = @waiting
        @waiting = nil
        hooks&.each(&:call)
      end
    end
  end
end
