# frozen_string_literal: true

require_relative "../options"
require_relative "../profiles"
require_relative "../web_ui"

module RperfPush
  module CLI
    module Commands
      # rperf-push diff: shows the differences between two profiles, each from one or several files.
      class Diff
        def help = "usage: rperf-push diff [OPTIONS] BASE TARGET | BASE... -- TARGET...\n#{Options.help("diff")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, bases, targets = parse(arguments)
          return page(bases, targets) if @options[:html] || WebUi.wanted?(@options)

          base, target = [bases, targets].map { |paths| Profiles.load("diff", paths, max_bytes: @options[:max_bytes]) }
          Profiles.write("diff", Printable.text(text(base, target)), @options[:output], bases + targets)
          0
        rescue ArgumentError => e
          raise Error, "diff: #{e.message}"
        end

        private

        def page(bases, targets)
          web_ui = WebUi.new("diff", { "base" => bases, "target" => targets }, **@options.slice(:relative, :max_bytes))
          @options[:html] ? Profiles.write("diff", web_ui.html, @options[:output], bases + targets) : web_ui.serve(@options)
          0
        end

        def parse(arguments)
          at = arguments.index("--")
          options, bases = Options.parse("diff", at ? arguments.take(at) : arguments)
          targets = at ? arguments.drop(at + 1) : []
          targets = [bases.pop] if !at && bases.size == 2
          raise Error, "diff needs BASE TARGET, or BASE... -- TARGET..." if bases.empty? || targets.empty?

          [options, bases, targets]
        end

        def text(base, target)
          value = @options[:value]&.to_sym
          limit = @options[:limit]
          difference = Difference.new(base, target, value:, relative: @options[:relative])
          if @options[:format] then Table.diff(difference, @options[:format], limit:)
          elsif @options[:collapsed] then collapsed(base, target, value)
          elsif @options[:method] then methods(base, target, value, limit)
          else difference.text(limit:)
          end
        end

        # Writes the format of flamegraph.pl's difffolded.pl: stack, base, target.
        def collapsed(base, target, value)
          before, after = [base, target].map do |data|
            Collapsed.encode(data, value:).lines(chomp: true).grep(Collapsed::LINE).to_h { |line| line.rpartition(" ").values_at(0, 2) }
          end
          (before.keys | after.keys).map { |stack| "#{stack} #{before[stack] || 0} #{after[stack] || 0}\n" }.join
        end

        def methods(base, target, value, limit)
          texts = { "base" => base, "target" => target }.map do |name, data|
            found = RperfPush::Report.new(data, value:).method(@options[:method], limit:)
            "#{name}:\n#{found || "no method #{@options[:method]}\n"}"
          end
          texts.join("\n")
        end
      end
    end
  end
end
