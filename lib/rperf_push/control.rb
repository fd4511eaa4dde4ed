# frozen_string_literal: true

require_relative "."

# (see RperfPush::Control)
module RperfPush
  # `require "rperf_push/control"` lets `rperf-push ps`, `stacks`, `top`, `live` and `attach` into this process, whether or not it is
  # profiled otherwise. Forked children listen, too. It costs a C thread that sleeps until a peer connects.
  #
  # RPERF_PUSH_CONTROL_SOCKET says where: auto (the default), an absolute path, or false.
  module Control
    PLACE = ENV.fetch("RPERF_PUSH_CONTROL_SOCKET", "").strip.then { |place| place.empty? ? "auto" : place }

    module_function

    # @return [String, nil] where this process listens; nil when it does not, or could not
    def path = Native.control_path

    # @return [String, nil] as {path}
    def listen(place = PLACE) = Native.listen(place)
  end

  Control.listen
end
