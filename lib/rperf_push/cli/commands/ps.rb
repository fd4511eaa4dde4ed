# frozen_string_literal: true

require_relative "../options"
require_relative "../processes"

module RperfPush
  module CLI
    module Commands
      # rperf-push ps: the processes of this user that are profiled, or may be looked into.
      class Ps
        COLUMNS = %w[PID APPLICATION RUBY THREADS ENGINE OVERHEAD UPLOADED LOST TITLE ERROR].freeze
        TITLE_WIDTH = 60
        LOSSES = %w[payloads_dropped_queue_full payloads_dropped_too_old payloads_dropped_rejected payloads_dropped_retries
                    payloads_dropped_shutdown payloads_dropped_spool_full payloads_dropped_damaged encode_failures].freeze

        def help = "usage: rperf-push ps [OPTIONS]\n#{Options.help("ps")}"

        # @return [Integer] the exit status
        def run(arguments)
          options, rest = Options.parse("ps", arguments)
          raise Error, "ps takes no argument, got #{rest.first.inspect}" if rest.any?

          documents = Processes.told("ps") { Processes.all }
          if options[:json] then Printer.out JSON.generate(documents)
          elsif documents.empty? then Printer.out "no process of this user listens: see rperf-push help, and docs/control.md"
          else Printer.out table(documents)
          end
          0
        end

        private

        def table(documents)
          rows = [COLUMNS, *documents.map { |one| row(one).map { |cell| Printable.line(cell) } }]
          widths = rows.transpose.map { |column| column.map(&:size).max }
          rows.map { |row| row.zip(widths).map { |text, width| text.ljust(width) }.join("  ").rstrip }
        end

        def row(one)
          threads = one["threads_known"].positive? ? one["threads_known"].to_s : "-"
          [one["pid"].to_s, one["application"] || "-", one["ruby"], threads, one["engine"] || "-", overhead(one), uploaded(one), lost(one),
           one["title"]&.slice(0, TITLE_WIDTH) || "-", error(one)]
        end

        def error(one) = one["last_error"] ? "#{one["last_error"][0, 60]} (#{ago(one["last_error_at_ns"])})" : "-"

        def overhead(one) = one["engine"] ? format("%.2f %%", one["overhead_ppm"] / 10_000.0) : "-"
        def uploaded(one) = one["last_upload_ok_at_ns"].positive? ? ago(one["last_upload_ok_at_ns"]) : "-"
        def ago(at_ns) = "#{Processes.span([Time.now.to_f - (at_ns / 1e9), 0].max)} ago"

        def lost(one)
          profiles = LOSSES.sum { |name| one[name] }
          said = []
          said << "#{profiles} profile#{"s" if profiles > 1}" if profiles.positive?
          said << "#{one["payloads_unconfirmed"]} unconfirmed" if one["payloads_unconfirmed"].positive?
          said.empty? ? "-" : said.join(", ")
        end
      end
    end
  end
end
