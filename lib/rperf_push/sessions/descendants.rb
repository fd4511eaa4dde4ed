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

        pid, options = offer.options.split(" ", 2)
        descendants = new(pid: Integer(pid), folder: offer.folder, offer:)
        return descendants.remove if descendants.own?

        OnDemand.carry_on(offer.folder, **StartOptions.of_text(options))
        Inheritance.adopt(descendants)
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
      @offer = Injection::Offer.of(@folder, "#{@pid} #{StartOptions.in_text(options)}")
      @offer.make
    end

    def withdraw = @offer&.withdraw

    private

    def children = SessionFolder.new(@folder).windows

    # When the session gave its data, its last window became a file.
    def hand_over(_recorded) = nil
  end
end
