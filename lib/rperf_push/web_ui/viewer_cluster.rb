# frozen_string_literal: true

require_relative "../remote/control_client"
require_relative "../data/formats"
require_relative "../data/merge"

module RperfPush
  # The processes whose viewers are shown as one: the workers that one process has forked, and itself. They find each other by their control
  # sockets, and each gives the one that asks what its viewer's session has recorded.
  class ViewerCluster
    MAX_WAIT = 5 # seconds, for a sibling that comes to no safepoint
    START_OF_STACK = 25 # in what follows the name in /proc/PID/stat: each program begins elsewhere, a forked child where its parent did
    START_TIME = 19
    A_DAY = 86_400

    NO_ANSWER = [ControlClient::Refused, SystemCallError, IOError, FormatError, ArgumentError].freeze

    # What siblings gave: merged, and how many of them gave nothing in time.
    Taken = Struct.new(:parts, :silent)

    class << self
      # @return [ViewerCluster, nil] nil: this process listens nowhere
      def of_this_process
        path = Native.control_path
        new(File.dirname(path), master) if path
      end

      # Linux; elsewhere only what is loaded before the fork is shown as one.
      #
      # @return [Array<String>, nil]
      def stat(pid)
        File.binread("/proc/#{pid}/stat")[/.*\) (.*)/m, 1].split
      rescue SystemCallError
        nil
      end

      # @return [String, nil]
      def namespace
        File.readlink("/proc/self/ns/pid")[/\d+/]
      rescue SystemCallError
        nil
      end

      private

      # A parent that this process was forked from, not a shell or the like. Where the viewer is loaded before the fork, children keep
      # what it found there.
      def master
        own, parent = [Process.pid, Process.ppid].map { |pid| stat(pid) }
        forked = own && parent && own[START_OF_STACK] != "0" && own[START_OF_STACK] == parent[START_OF_STACK]
        forked ? name_after(Process.ppid, parent) : name_after(Process.pid, own)
      end

      # A pid, a start and a PID namespace: pids come again, and each container has its own.
      def name_after(pid, stat) = [pid, stat&.at(START_TIME), namespace].compact.join("-")
    end

    attr_reader :folder, :name

    # @param folder [String] of control sockets
    def initialize(folder, name)
      @folder = folder
      @name = name
    end

    # @param since [Time] of its last sign of life, where processes of other containers cannot be seen
    # @return [Boolean] its master has gone, without which no worker stays
    def ended?(since)
      pid, start, namespace = @name.split("-")
      return since < Time.now - A_DAY unless namespace == self.class.namespace
      return self.class.stat(pid)&.at(START_TIME) != start if start

      Process.kill(0, pid.to_i).zero?
    rescue Errno::ESRCH
      true
    rescue Errno::EPERM
      false
    end

    # Takes what the siblings' sessions have recorded, of all at once.
    #
    # @return [Taken] parts by pid
    def take
      answers = clients.map { |client| Thread.new { taken_from(client) if sibling?(client) } }.filter_map(&:value)
      Taken.new(answers.filter_map { |pid, data| [pid, data] if data.is_a?(Hash) }.to_h, answers.count { |_, data| data == :silent })
    end

    private

    def clients = ControlFolder.new(@folder).sockets.map { |path| ControlClient.new(path) }

    # One that has gone, does not answer, or is another user's, is none.
    def sibling?(client) = client.about&.then { |document| document["viewer"] == @name && document["pid"] != Process.pid }

    # @return [Array(Integer, Object)] the pid, and a Hash, nil for nothing, or :silent
    def taken_from(client)
      data = nil
      pid = client.pid
      client.connect("take", cluster: @name) do |stream|
        while (kind, bytes = stream.read(timeout: MAX_WAIT))
          return [pid, :silent] if kind == :nothing

          data = PProf.decode(bytes)
        end
      end
      [pid, data]
    rescue *NO_ANSWER
      [pid, :silent]
    end
  end
end
