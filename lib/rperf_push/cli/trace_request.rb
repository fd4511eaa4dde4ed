# frozen_string_literal: true

require_relative "../remote/control_client"
require_relative "errors"

module RperfPush
  module CLI
    # What attach and live ask a process to trace.
    module TraceRequest
      PATTERNS = 5 # of methods
      PATTERN_BYTES = 255 # as the protocol has them
      NODES = (1..200_000) # likewise

      module_function

      # @return [Hash] arguments of the verb trace
      def of(command, options)
        check(command, [*options[:only], *options[:except]])
        max_nodes = options[:max_nodes]
        raise Error, "#{command}: max-nodes must be from 1 to #{NODES.max}, got #{max_nodes}" unless NODES.cover?(max_nodes)

        { max_nodes:, c_methods: options[:c_methods] ? 1 : 0, blocks: options[:blocks] ? 1 : 0,
          only: options[:only], except: options[:except] }
      end

      def check(command, patterns)
        raise Error, "#{command}: --trace takes #{PATTERNS} patterns of methods at the most" if patterns.size > PATTERNS

        wrong = patterns.find { |one| one.empty? || ControlClient.given("", one).first.bytesize > PATTERN_BYTES }
        raise Error, "#{command}: a pattern of methods is empty, or too long: #{wrong[0, 40]}" if wrong
      end

      # Options that mean nothing without --trace.
      #
      # @param keys [Array<Symbol>]
      def refuse_stray(command, options, keys)
        stray = Options::TABLE[command].find { |one| keys.include?(one.key) && options[one.key] != one.default }
        raise Error, "#{command}: --#{stray.long} needs --trace" if stray
      end
    end
  end
end
