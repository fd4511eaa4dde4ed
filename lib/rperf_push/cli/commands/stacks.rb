# frozen_string_literal: true

require_relative "../options"
require_relative "../processes"

module RperfPush
  module CLI
    module Commands
      # rperf-push stacks: where every thread of a process is now.
      class Stacks
        STATES = { "running" => "running", "waiting" => "waiting for the GVL", "blocked" => "blocked",
                   "asleep" => "asleep (blocked, or waiting for the GVL)", "awake" => "on a processor, or ready for one",
                   "unknown" => "state not known" }.freeze

        def help = "usage: rperf-push stacks [OPTIONS] PID\n#{Options.help("stacks")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, rest = Options.parse("stacks", arguments)
          client = Processes.named("stacks", rest)
          document = Processes.told("stacks") { client.ask("stacks") }
          Printer.out(@options[:json] ? JSON.generate(document) : text(document))
          0
        end

        private

        def text(document)
          threads = document["threads"].sort_by { |one| [one["holds_gvl"] ? 0 : 1, one["state"] == "waiting" ? 0 : 1, one["tid"]] }
          ["process #{document["pid"]}, #{threads.size} threads, #{Time.at(document["at_ns"] / 1e9).strftime("%F %T")}",
           *(document["complete"] ? [] : ["not all is known: #{document["why"]}"]), *threads.flat_map { |one| ["", *thread(one)] }]
        end

        def thread(one)
          heading = ["thread #{one["tid"]} #{one["name"].inspect}: #{state(one)}", cpu(one), labels(one), age(one)].compact.join(", ")
          [heading, *frames(one)]
        end

        def state(one)
          said = STATES.fetch(one["state"], one["state"])
          said += " for #{Processes.span(one["for_ns"] / 1e9)}" if one["for_ns"]
          one["holds_gvl"] ? "#{said}, holds the GVL" : said
        end

        def cpu(one) = (format("%.0f %% of a core", one["cpu_permille"] / 10.0) if one["cpu_permille"])
        def labels(one) = (one["labels"].map { |key, value| Printable.line("#{key}=#{value}") }.join(" ") if one["labels"].any?)
        def age(one) = ("stack of #{Processes.span(one["stack_age_ns"] / 1e9)} ago" if one["stack_age_ns"].positive? && one["stack"].any?)

        def frames(one)
          return ["    (its stack is not known)"] if one["stack"].empty?

          shown = one["stack"].first(@options[:depth])
          left = one["stack"].size - shown.size
          shown.map { |name, path, line| Printable.line("    #{name}#{" #{path}#{":#{line}" if line.positive?}" unless path.empty?}") } +
            (left.positive? ? ["    ... #{left} more (--depth)"] : [])
        end
      end
    end
  end
end
