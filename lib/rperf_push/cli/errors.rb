# frozen_string_literal: true

module RperfPush
  module CLI
    # An error that the user can correct: one line on standard error, exit status 1.
    class Error < StandardError
      def exit_status = 1
    end

    # A command that could not be started. The status is as in a shell: 127 if it does not exist, 126 if it cannot run.
    class NotStarted < Error
      attr_reader :exit_status

      def initialize(exit_status, message)
        super(message)
        @exit_status = exit_status
      end
    end
  end
end
