# frozen_string_literal: true

require_relative "../base/atomic_file"
require_relative "errors"
require_relative "output_file"

module RperfPush
  module CLI
    # Where a trace goes: a profile, or a report where the name or an option asks for one.
    module TraceFile
      ENDINGS = { %r{(?:\A|/)callgrind\.out\.[^/]*\z|\.callgrind\z} => :callgrind, /\.dot\z/ => :dot }.freeze

      module_function

      def write(command, path, data, report: nil, limit: nil, format: nil)
        report ||= ENDINGS.find { |ending, _| path.match?(ending) }&.last
        return OutputFile.save(command, path, data, format) unless report

        AtomicFile.write(path, Printable.text(data[:tree].report(report, limit:)))
      rescue SystemCallError => e
        raise Error, "#{command}: #{path}: #{CLI.reason(e)}; the report is lost"
      end
    end
  end
end
