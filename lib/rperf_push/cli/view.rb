# frozen_string_literal: true

require_relative "options"
require_relative "report"
require_relative "showing"

module RperfPush
  module CLI
    # rperf-push view: files on a page of one's own.
    class View
      def help = "usage: rperf-push view [OPTIONS] [FILE|DIR...] (default: #{Report::DEFAULT_INPUT})\n#{Options.help("view")}"

      # @return [Integer] the exit status
      def run(arguments)
        options, paths = Options.parse("view", arguments)
        paths = [Report::DEFAULT_INPUT] if paths.empty?
        Showing.new("view", { nil => paths }, max_bytes: options[:max_bytes]).serve(options)
        0
      end
    end
  end
end
