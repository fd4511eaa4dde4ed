# frozen_string_literal: true

require_relative "inheritance"
require_relative "injection"

module RperfPush
  # The children that carry on a session of `inherit: true`: those that are forked, and the Ruby programs that are started, whatever
  # starts them. As under `rperf-push record` they write a window every two seconds into the folder, so that one that is killed loses
  # its last at the most. Programs find the folder in the environment while the session runs.
  class Descendants < Inheritance
    FEATURE = "rperf_push/inherited"
    FOLDER = "RPERF_PUSH_INHERITED_DIR"
    TERMS = "RPERF_PUSH_INHERITED" # the process that has begun the session, and how

    class << self
      # Of a session that has begun; without a folder it ends.
      #
      # @raise [SystemCallError]
      def of(terms)
        require_relative "session_folder"
        new(folder: SessionFolder.create.path).tap { |descendants| descendants.offer(terms) }
      rescue SystemCallError
        Native.stop(OnDemand::OWN)
        raise
      end

      # In a program that was started. The root may have become another program, by exec: nobody waits for that one.
      def carry_on
        folder = ENV.fetch(FOLDER, nil)
        return unless folder && Dir.exist?(folder) && !Native.recording?

        pid, *terms = ENV.fetch(TERMS).split
        return if pid == Process.pid.to_s

        OnDemand.carry_on(folder, **in_ruby(*terms))
        Inheritance.adopt(new(pid: Integer(pid), folder:))
      end

      # @return [String] without blanks within a term
      def in_text(frequency:, mode:, lines:, aggregate:, defer:, engine:)
        [frequency, [*mode].join(","), *[lines, aggregate, defer].map { |one| one ? 1 : 0 }, engine].join(" ")
      end

      private

      def in_ruby(frequency, mode, *flags, engine)
        lines, aggregate, defer = flags.map { |flag| flag == "1" }
        { frequency: Integer(frequency), mode: mode.split(",").map(&:to_sym), lines:, aggregate:, defer:, engine: engine.to_sym }
      end
    end

    def offer(terms)
      Native.pass_on(@folder)
      @offer = Injection::Offer.new(FEATURE, FOLDER => @folder, TERMS => "#{@pid} #{Descendants.in_text(**terms)}")
    end

    def withdraw
      @offer&.withdraw if own?
    end

    private

    def children = SessionFolder.new(@folder).windows

    # All but the last window are there.
    def hand_over = Native.stop(OnDemand::OWN)
  end
end
