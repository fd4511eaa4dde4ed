# frozen_string_literal: true

require "socket"
require_relative "control_folder"
require_relative "control_refusal"

module RperfPush
  # A connection to a control socket: to a process of the user whom the folder belongs to, which is the one that the socket is named after.
  # The kernel says who is at the other end, so no byte is read from any other.
  class ControlPeer
    MAX_WAIT = 10 # seconds, until a process that has many peers takes one more
    PAUSE = 0.02
    CREDENTIALS = Socket.const_defined?(:SO_PEERCRED) # pid, uid, gid: of Linux

    # @return [Socket]
    attr_reader :socket

    # @yieldparam peer [ControlPeer]
    def self.open(path)
      peer = new(path)
      yield peer
    ensure
      peer&.socket&.close
    end

    # @raise [ControlRefusal, SystemCallError]
    def initialize(path)
      @path = path
      owner = ControlFolder.new(File.dirname(path)).owner
      @socket = Socket.new(Socket::AF_UNIX, Socket::SOCK_STREAM)
      connect
      @pid, uid = credentials
      refuse("is not of the user whom the folder belongs to") unless uid == owner
      refuse("is not the process that it is named after") unless answers_for?(File.basename(path)[/\A(\d+)\.sock\z/, 1]&.to_i)
    rescue ControlRefusal, SystemCallError
      @socket&.close
      raise
    end

    # @param pid [Integer, nil] as the process has it, which may have another one here if it runs in a container
    # @return [Boolean] also where that cannot be known
    def answers_for?(pid) = pid.nil? || @pid.nil? || pids.include?(pid)

    private

    # Without waiting for one that takes no peer.
    def connect
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + MAX_WAIT
      begin
        @socket.connect_nonblock(Socket.sockaddr_un(@path))
      rescue Errno::EAGAIN
        refuse("takes no peer within #{MAX_WAIT} s") if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
        sleep PAUSE
        retry
      end
    end

    # @return [Array(Integer, Integer)] the pid, nil where it cannot be seen, and the user
    def credentials
      return [nil, @socket.getpeereid.first] unless CREDENTIALS

      pid, uid = @socket.getsockopt(Socket::SOL_SOCKET, Socket::SO_PEERCRED).data.unpack("iI")
      [(pid if pid.positive?), uid]
    end

    # Of all PID namespaces that it is in.
    def pids
      @pids ||= File.binread("/proc/#{@pid}/status")[/^NSpid:(.*)/, 1].to_s.split.map(&:to_i).push(@pid)
    rescue SystemCallError
      [@pid]
    end

    def refuse(reason) = raise(ControlRefusal, "#{@path}: what listens there #{reason}")
  end
end
