# frozen_string_literal: true

module RperfPush
  module CLI
    # A command that was started, until it ends: a signal to us is meant for the command.
    module Command
      FORWARDED = %w[TERM HUP USR1 USR2].freeze
      WAITED_OUT = %w[INT QUIT].freeze # a terminal also sends them to the command

      module_function

      # @return [Process::Status]
      def wait(pid)
        before = WAITED_OUT.to_h { |signal| [signal, trap(signal) { nil }] }
        FORWARDED.each { |signal| before[signal] = trap(signal) { forward(signal, pid) } }
        Process.wait2(pid).last
      ensure
        before&.each { |signal, handler| trap(signal, handler || "DEFAULT") }
      end

      # @return [Integer] as a shell reports it
      def exit_status(status) = status.exitstatus || (128 + status.termsig)

      def forward(signal, pid)
        Process.kill(signal, pid)
      rescue Errno::ESRCH
        nil
      end
      private_class_method :forward
    end
  end
end
