# frozen_string_literal: true

require_relative "stat"

module RperfPush
  module CLI
    module Commands
      # rperf-push exec: the same as stat --report.
      class Exec < Stat
        def self.command = "exec"

        private

        def tables? = true
      end
    end
  end
end
