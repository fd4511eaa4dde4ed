# frozen_string_literal: true

require "io/console"
require_relative "../../remote/remote_session"
require_relative "../options"
require_relative "../processes"
require_relative "../top_screen"

module RperfPush
  module CLI
    module Commands
      # rperf-push top: what a process does, again and again. A session on demand in the process, whose windows are shown as they come.
      #
      # Plain ANSI, no library: a table that is drawn anew needs four of its codes, which every terminal at the other end of an ssh has.
      class Top
        VALUES = { "c" => :cpu, "w" => :wall, "a" => :alloc_objects, "h" => :inuse_objects }.freeze
        COMMANDS = { "b" => :next_grouping, "v" => :next_value, "t" => :toggle_order, "f" => :toggle_freeze, " " => :toggle_freeze,
                     "/" => :begin_typing }.freeze
        MODES = "cpu,wall,alloc,heap,contention" # what is captured in any case

        def help = "usage: rperf-push top [OPTIONS] PID\n#{Options.help("top")}"

        # @return [Integer] the exit status
        def run(arguments)
          @options, rest = Options.parse("top", arguments)
          @interval = ControlOptions.interval("top", @options[:interval])
          client = Processes.named("top", rest)
          @screen = TopScreen.new(client.pid, value: @options[:value].to_sym, by: @options[:by], filter: @options[:filter])
          @left = @options[:count]
          Processes.told("top") { on_terminal { watch(client) } }
          0
        end

        private

        # Keys come one by one, and the terminal is left as it was, however this ends.
        def on_terminal(&)
          return yield unless interactive?

          Printer.as_it_is("\e[?1049h\e[?25l")
          $stdin.raw(intr: true, &)
        rescue Interrupt
          nil
        ensure
          Printer.as_it_is("\e[?25h\e[?1049l") if interactive?
        end

        def interactive? = $stdin.tty? && $stdout.tty?

        def watch(client)
          request = { frequency: @options[:frequency], mode: MODES, interval_ms: (@interval * 1000).round, gzip: 0 }
          client.connect("record", **request) { |stream| RemoteSession.new(stream).each { |window| turn(window) } }
        end

        # @return [:stop, nil]
        def turn(window)
          pressed = key
          return :stop if press(pressed) == :stop || @left&.zero?

          show(window) if window
          draw if window || pressed
          :stop if @left&.zero?
        end

        def show(window)
          @screen.add(window)
          @left &&= @left - 1
        end

        def key = ($stdin.getc if interactive? && $stdin.wait_readable(0))

        def press(key)
          return if key.nil?
          return @screen.type(key) if @screen.typing?

          return :stop if key == "q"

          @screen.value = VALUES[key] if VALUES.key?(key)
          @screen.public_send(COMMANDS[key]) if COMMANDS.key?(key)
        end

        # Some terminals do not say.
        def size
          return [@options[:limit] + TopScreen::HEADING_ROWS + 1, 200] unless interactive?

          $stdout.winsize.then { |rows, columns| rows.positive? && columns.positive? ? [rows, columns] : [24, 80] }
        end

        def draw
          rows, columns = size
          lines = @screen.lines(rows - 1).map { |line| line[0, columns] }
          Printer.as_it_is(interactive? ? "\e[H#{lines.map { |line| "#{line}\e[K\r\n" }.join}\e[J" : "#{lines.join("\n")}\n\n")
          $stdout.flush
        end
      end
    end
  end
end
