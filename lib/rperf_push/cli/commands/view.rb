# frozen_string_literal: true

require_relative "../options"
require_relative "report"
require_relative "../web_ui"

module RperfPush
  module CLI
    module Commands
      # rperf-push view: files on a page of one's own.
      class View
        def help = "usage: rperf-push view [OPTIONS] [FILE|DIR...] (default: #{OutputFile::DEFAULT})\n#{Options.help("view")}"

        # @return [Integer] the exit status
        def run(arguments)
          options, paths = Options.parse("view", arguments)
          paths = [OutputFile::DEFAULT] if paths.empty?
          WebUi.new("view", { nil => paths }, max_bytes: options[:max_bytes]).serve(options)
          0
        end
      end
    end
  end
end
