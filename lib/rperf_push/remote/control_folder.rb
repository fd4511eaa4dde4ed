# frozen_string_literal: true

require_relative "control_refusal"

module RperfPush
  # A folder of control sockets, and whether its sockets may be believed. Anyone can make a folder under /tmp, and anyone who can write
  # into a folder can put a socket there that answers as a process does, or never.
  class ControlFolder
    SOCKETS_MAX = 1000 # of one folder; more are not looked at
    USER = %r{/rperf-push-(\d+)\z|\A/run/user/(\d+)/rperf-push\z} # whose it is, by its name

    class << self
      # Where sockets may be: those that the process was told of, or else those of this user.
      #
      # @return [Array<String>] paths
      # @raise [ControlRefusal] if the place is one that other users may write into
      def sockets(place = ENV.fetch("RPERF_PUSH_CONTROL_SOCKET", nil))
        return told(place) if place&.start_with?("/")

        guessed.map { |folder| new(folder) }.select(&:trusted?).flat_map(&:sockets).uniq
      end

      private

      # @param place [String] of a folder, or of a socket
      def told(place)
        is_socket = place.end_with?(".sock")
        folder = new(is_socket ? File.dirname(place) : place)
        return [] unless File.directory?(folder.path) && folder.owner

        is_socket && File.socket?(place) ? [place] : folder.sockets
      end

      # A process may have had another environment than this one, so each place is looked at. Root looks into those of others.
      def guessed
        own = ENV.fetch("XDG_RUNTIME_DIR", nil)
        all = Process.euid.zero? ? Dir.glob(%w[/run/user/*/rperf-push /tmp/rperf-push-*]) : ["/run/user/#{Process.euid}/rperf-push"]
        temporary = ["/tmp", ENV.fetch("TMPDIR", nil)].compact.map { |folder| "#{folder}/rperf-push-#{Process.euid}" }
        [*("#{own}/rperf-push" if own), *all, *temporary].uniq
      end
    end

    attr_reader :path

    def initialize(path)
      @path = path
    end

    def sockets = Dir.glob("*.sock", base: path).sort.map { |name| "#{path}/#{name}" }.select { |one| File.socket?(one) }.first(SOCKETS_MAX)

    # Of one that has a user's name no other user's is believed, and no link to another folder.
    def trusted?
      named = path[USER, 1] || path[USER, 2]
      return false if named && (File.symlink?(path) || owner != named.to_i)

      !owner.nil?
    rescue ControlRefusal, SystemCallError
      false
    end

    # @return [Integer] the user whose processes listen here
    # @raise [ControlRefusal, SystemCallError]
    def owner
      stat = File.stat(path)
      raise ControlRefusal, "#{path}: other users may write into this folder: chmod go-w" unless stat.mode.nobits?(0o022)
      raise ControlRefusal, "#{path}: is another user's" unless stat.owned? || Process.euid.zero?

      stat.uid
    end
  end
end
