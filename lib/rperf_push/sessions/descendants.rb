# frozen_string_literal: true

require_relative "inheritance"
require_relative "../injection"
require_relative "session_folder"

module RperfPush
  # The children that carry on a session of `inherit: true`: those that are forked, and the Ruby programs that are started, whatever
  # starts them. As under `rperf-push record` they write a window every two seconds into the folder, so that one that is killed loses
  # its last at the most. Each process that has part in the session offers it to the programs that it starts. A process ends its part
  # by a `start` or `stop` of its own, or when the folder or the process that has begun the session is gone.
  class Descendants < Inheritance
    class << self
      # In a program that was started. The process that has begun the session may have become this one, by exec: no process waits for that
      # session.
      def carry_on
        offer = Injection::Offer.found
        return offer.withdraw if Native.abandoned?(offer.folder)

        pid, *options = offer.options.split
        descendants = new(pid: Integer(pid), folder: offer.folder, offer:)
        return descendants.remove if descendants.own?

        OnDemand.carry_on(offer.folder, **in_ruby(*options))
        Inheritance.adopt(descendants)
      end

      # @return [String] without blanks within a term
      def in_text(frequency:, mode:, lines:, aggregate:, defer:, engine:, alloc_interval:, class_labels:)
        flags = [lines, aggregate, defer, class_labels].map { |one| one ? 1 : 0 }
        [frequency, [*mode].join(","), *flags, engine, alloc_interval || 0].join(" ")
      end

      private

      def in_ruby(frequency, mode, *flags, engine, alloc_interval)
        lines, aggregate, defer, class_labels = flags.map { |flag| flag == "1" }
        { frequency: Integer(frequency), mode: mode.split(",").map(&:to_sym), lines:, aggregate:, defer:, engine: engine.to_sym,
          alloc_interval: Integer(alloc_interval).nonzero?, class_labels: }
      end
    end

    def initialize(offer: nil, **)
      super(**)
      @offer = offer
    end

    # @raise [SystemCallError] there is no folder
    def open(options)
      folder = SessionFolder.planned
      @folder = folder.path
      folder.make
      Native.pass_on(@folder)
      @offer = Injection::Offer.of(@folder, "#{@pid} #{Descendants.in_text(**options)}")
      @offer.make
    end

    def withdraw = @offer&.withdraw

    private

    def children = SessionFolder.new(@folder).windows

    # When the session gave its data, its last window became a file.
    def hand_over(_recorded) = nil
  end
end
