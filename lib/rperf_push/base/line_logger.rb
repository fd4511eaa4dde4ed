# frozen_string_literal: true

module RperfPush
  # Makes an IO a logger.
  class LineLogger
    def initialize(io)
      @io = io
    end

    %i[info warn error].each do |level|
      define_method(level) { |line| @io.puts(line) }
    end
  end
end
