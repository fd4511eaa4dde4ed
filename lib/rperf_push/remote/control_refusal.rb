# frozen_string_literal: true

module RperfPush
  # What a process, or the way to it, says in a line.
  class ControlRefusal < StandardError; end
end
