# frozen_string_literal: true

require "rperf_push"
require_relative "../remote/control_client"
require_relative "errors"

module RperfPush
  module CLI
    # The processes that listen on a control socket, as commands ask for them.
    module Processes
      module_function

      # @return [ControlClient] of the process that the command names
      def named(command, arguments)
        pid, *rest = arguments
        raise Error, "#{command} needs the pid of a process; rperf-push ps lists them" if pid.nil?
        raise Error, "#{command}: #{pid.inspect} is no pid" unless pid.match?(/\A[1-9]\d*\z/)
        raise Error, "#{command} takes one pid, got #{rest.first.inspect} as well" if rest.any?

        told(command) { ControlClient.of(pid.to_i) }
      end

      # What a process refuses, and that it has gone, in a line.
      def told(command)
        yield
      rescue ControlClient::Refused, FormatError => e
        raise Error, "#{command}: #{e.message}"
      rescue SystemCallError => e
        raise Error, "#{command}: #{CLI.reason(e)}"
      end

      # @return [Array<Hash>] what each says of itself; one that is gone says nothing
      def all = ControlClient.answering.map(&:last).uniq { |one| one["pid"] }.sort_by { |one| one["pid"] }

      # @return [String] "3.2 s", "4 min"
      def span(seconds)
        return format("%.0f ms", seconds * 1000) if seconds < 1
        return format("%.1f s", seconds) if seconds < 100
        return format("%.0f min", seconds / 60) if seconds < 6000

        format("%.0f h", seconds / 3600)
      end
    end
  end
end
