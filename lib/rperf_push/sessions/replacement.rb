# frozen_string_literal: true

require_relative "inheritance"

module RperfPush
  # A program that replaces itself by exec ends without at_exit. So its sessions end first, as they do at the end of the process, and
  # begin again if exec fails.
  #
  # In a forked child that calls exec at once, only a few milliseconds were sampled: they are not worth a request to the server.
  module Replacement
    SHORT_NS = 100_000_000

    # Of Process and Kernel themselves. When super returns or raises, the program was not replaced.
    module Exec
      def exec(...)
        Replacement.end_sessions(ended = [])
        super
      ensure
        ended&.each(&:call)
      end
    end

    # Of all objects, where exec is private. It is included in Object: if it were prepended to Kernel, Ruby 3.3 would take all methods of
    # Kernel for singleton methods.
    OfObjects = Exec.dup
    OfObjects.send(:private, :exec)

    class << self
      # The arguments of Native.configure that the continuous session was started with.
      attr_writer :configured

      def watch
        [::Process, ::Kernel].each { |owner| owner.singleton_class.prepend(Exec) }
        ::Object.include(OfObjects)
      end

      # Only the main Ractor has sessions.
      #
      # @param ended [Array<Proc>] gets what begins them again, also if an interrupt ends this
      def end_sessions(ended)
        return unless Ractor.current == Ractor.main

        Inheritance.current&.before_exec
        SessionMember.before_exec(ended) if defined?(SessionMember)
        TracedProcess.before_exec(ended) if defined?(TracedProcess)
        end_continuous(ended)
      end

      private

      def end_continuous(ended)
        session = Native.started
        return unless session && session[:age_ns] >= SHORT_NS

        ended << -> { Native.configure(*@configured) }
        Native.shutdown(nil)
      end
    end
  end
end
