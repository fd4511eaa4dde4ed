# frozen_string_literal: true

require_relative "atomic_file"
require_relative "formats"
require_relative "merge"

module RperfPush
  # A session on demand and the forked children that carry it on: what they have recorded when they end lies in a folder until the
  # parent's {RperfPush.stop} adds it. The folder is made at the first fork. {Descendants} are all children.
  #
  # A child that ends by `exit!` or a signal leaves nothing, and what comes after the parent's stop is nobody's.
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

      # Of a session that has begun.
      #
      # @param kind [Object] one of {KINDS}
      # @param terms [Hash] with which the session was begun
      # @return [Object] the block's value
      def begin(kind, terms)
        @current&.remove
        inheritance = @current = nil
        inheritance = adopt(kind == true ? descendants(terms) : new) if kind
        yield if block_given?
      ensure
        inheritance&.withdraw if block_given?
      end

      # @return [Hash] the data, with that of the children
      def finish(data)
        inheritance = @current
        return data unless inheritance&.own?

        @current = nil
        inheritance.withdraw
        inheritance.add_children(data)
      ensure
        inheritance&.remove
      end

      # @return [Inheritance]
      def adopt(inheritance)
        prepare
        @current = inheritance
      end

      private

      def descendants(terms)
        require_relative "descendants"
        Descendants.of(terms)
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

    # @return [Boolean] whether this process has begun the session
    def own? = @pid == Process.pid

    def expect_child
      return if @folder || !own?

      require_relative "session_folder"
      @folder = SessionFolder.create.path
    rescue SystemCallError => e
      @folder = ""
      warn "[rperf-push] what forked children record is not added: #{e.message}"
    end

    def end_of_process
      return remove if own?

      hand_over if @folder && Dir.exist?(@folder) && Native.inherited?
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

    # @return [Array(Integer, Hash)] process and data
    def children = Dir.glob("#{@folder}/*.json.gz").map { |path| [File.basename(path).to_i, Formats.load(path)] }

    def hand_over
      data = OnDemand.complete(Native.stop(OnDemand::OWN), nil)
      path = "#{@folder}/#{Process.pid}.json.gz"
      AtomicFile.write(path, Formats.encode(data, path)) if data
    rescue SystemCallError => e
      warn "[rperf-push] what the child #{Process.pid} has recorded is lost: #{e.message}" if Dir.exist?(@folder)
    end
  end
end
