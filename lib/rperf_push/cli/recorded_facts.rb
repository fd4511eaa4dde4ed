# frozen_string_literal: true

require_relative "../settings/git"
require_relative "errors"

module RperfPush
  module CLI
    # What the file says of the run.
    module RecordedFacts
      module_function

      # Asked before the command starts: it may change what the repository says.
      def given(name, options)
        labels = (options[:label] || []).to_h do |pair|
          key, value = pair.split("=", 2)
          raise Error, "#{name}: a label must be KEY=VALUE, got #{pair}" if value.nil? || key.empty?

          [key.to_sym, value]
        end
        { git: Git.meta, labels: (labels unless labels.empty?) }.compact
      end
    end
  end
end
