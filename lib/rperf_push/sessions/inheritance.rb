# frozen_string_literal: true

require_relative "../base/atomic_file"
require_relative "../data/merge"
require_relative "../base/notice"
require_relative "session_folder"

module RperfPush
  # A session on demand and the forked children that carry it on: what they have recorded when they end lies in a folder until the
  # parent's {RperfPush.stop} adds it. The folder is made at the first fork. {Descendants} are all children.
  #
  # A child that ends by `exit!` or a signal leaves nothing, and what comes after the parent's stop is in no result.
  class Inheritance
    KINDS = [:fork, true, false].freeze

    # Before whatever Ruby or a gem does in a child.
    module Fork
      def _fork
        Inheritance.current&.expect_child
        super
      end
    end

    class << self
      # Of the session that runs, here or in the parent.
      attr_reader :current

      # Of a session that has begun. If this does not come to its end, nothing of it is left.
      #
      # @param kind [Object] one of {KINDS}
      # @param options [Hash] with which the session was begun
      # @return [Object] the block's value; true without one
      def begin(kind, options)
        leave
        inheritance = adopt(kind == true ? descendants : new) if kind
        inheritance&.open(options)
        value = block_given? ? yield : true
        inheritance&.withdraw if block_given?
        whole = true
        value
      ensure
        drop unless whole
      end

      # A child has its data for itself, and the parent has it, too.
      #
      # @return [Hash] the data, with that of the children
      def finish(data)
        @current&.withdraw
        return data unless @current

        @current.own? ? @current.add_children(data) : data.tap { @current.give(data) }
      ensure
        leave
      end

      # This process has no part in the session any more.
      def leave
        @current&.remove
        @current = nil
      end

      # A session that another process has begun is over there.
      def ended
        leave if @current && !@current.own? && !Native.recording?
        SessionMember.ended if defined?(SessionMember)
      end

      # Around the end of a session: if it ends and what follows is interrupted, nothing of it is left.
      def ending
        data = yield
        whole = true
        data
      ensure
        drop unless whole || Native.recording?
      end

      # @return [Inheritance]
      def adopt(inheritance)
        prepare
        @current = inheritance
      end

      private

      # A forked child may unwind what its parent has called.
      def drop = (leave if @current&.own?)

      def descendants
        require_relative "descendants"
        Descendants.new
      end

      def prepare
        return if @prepared

        @prepared = true
        ::Process.singleton_class.prepend(Fork)
        at_exit { @current&.end_of_process }
      end
    end

    # @param pid [Integer] the process that has begun the session
    def initialize(pid: Process.pid, folder: nil)
      @pid = pid
      @folder = folder
    end

    # @return [Boolean] whether this process has begun the session: in another PID namespace a child may have its parent's number
    def own? = @pid == Process.pid && (@folder.to_s.empty? || Native.own_session?(@folder))

    # The session has begun.
    def open(_terms) = nil

    # It loads nothing: beside a thread that computes, each read of a file waits for the GVL once more.
    def expect_child
      return if @folder || !own?

      @folder = SessionFolder.create.path
    rescue SystemCallError => e
      @folder = ""
      Notice.write("[rperf-push] what forked children record is not added: #{e.message}")
    end

    def end_of_process
      return remove if own?

      hand_over(Native.stop(OnDemand::OWN)) if hands_over?
    end

    # The session continues, because exec may fail: what is handed over later has all that is handed over now.
    def before_exec
      hand_over(Native.snapshot(OnDemand::OWN, false)) if !own? && hands_over?
    end

    # Of a child that has stopped the session itself.
    #
    # @param data [Hash] what it has recorded
    def give(data)
      hand_over(data) if awaited?
    end

    # No more children are to follow.
    def withdraw = nil

    def remove
      withdraw
      SessionFolder.remove(@folder) if own? && @folder && !@folder.empty?
      @folder = nil if own?
    end

    # Equal ids of threads are others in each process; %pid tells children apart. Captures that are kept apart stay with their process.
    def add_children(data)
      parts = @folder ? children : []
      return data if parts.empty? || data[:raw_samples]

      merge = Merge.new.add(data, process: @pid)
      parts.each { |pid, part| merge.add(part, process: pid, labels: { "%pid": pid.to_s }) }
      data.merge(merge.data)
    end

    private

    def awaited? = @folder && !@folder.empty? && !Native.abandoned?(@folder)
    def hands_over? = awaited? && Native.inherited?

    # @return [Array(Integer, Hash)] process and data
    def children
      # Only this user can write into the folder.
      Dir.glob("#{@folder}/*.data").map { |path| [File.basename(path).to_i, Marshal.load(File.binread(path))] }
    end

    # While the session goes on, another process may get the number of one that has ended.
    def own_path
      @handing = [Process.pid, Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)] unless @handing&.first == Process.pid
      "#{@folder}/#{@handing.join("-")}.data"
    end

    # As Marshal, which needs no gem.
    def hand_over(recorded)
      data = OnDemand.complete(recorded, nil)
      AtomicFile.write(own_path, Marshal.dump(data)) if data
    rescue SystemCallError => e
      Notice.write("[rperf-push] what the child #{Process.pid} has recorded is lost: #{e.message}") if Dir.exist?(@folder)
    end
  end
end
