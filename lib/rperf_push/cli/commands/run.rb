# frozen_string_literal: true

require_relative "../../settings/git"
require_relative "../../injection"
require_relative "../settings"

module RperfPush
  module CLI
    module Commands
      # rperf-push run: the environment in which every Ruby program, and every one that it starts, profiles itself; then the
      # command takes this process over.
      class Run
        AUTOSTART = "rperf_push/autostart"

        def initialize
          @settings = Settings.new
          @parser = OptionParser.new("usage: rperf-push run [OPTIONS] COMMAND [ARGUMENT...]") do |parser|
            @settings.declare(parser, config: false)
          end
        end

        def help = @parser.help

        # Does not return when the command could be started.
        def run(arguments)
          command = CLI.parsing("run") { @parser.order(arguments) }
          raise Error, "run needs a command" if command.empty?

          chosen = environment
          $stdout.flush
          say(command.first)
          exec(chosen, [command.first, command.first], *command.drop(1))
        rescue SystemCallError => e
          raise Error, "run: #{command.first}: #{CLI.reason(e)}"
        end

        # @param now [#[]] the environment to build on
        # @return [Hash{String => String}]
        def environment(now = ENV)
          chosen = @settings.flags.to_h { |option, value| ["RPERF_PUSH_#{option.upcase}", value] }
          chosen["RPERF_PUSH_DIRECTORY"] = absolute(chosen["RPERF_PUSH_DIRECTORY"]) if chosen["RPERF_PUSH_DIRECTORY"]
          chosen.merge(commit(now), Injection.environment(AUTOSTART, now))
        end

        private

        # Programs themselves say what is wrong with the settings, and exec says that there is no such program.
        def say(program)
          to = found?(program) && Native.destination(@settings.given, @settings.texts) or return
          where = format("%<backend>s at %<target>s: %<frequency>d Hz, every %<interval>g s", to)
          Printer.err "rperf-push: run: profiles of #{program} go to #{where}"
        end

        def found?(program)
          folders = ENV.fetch("PATH", "").split(File::PATH_SEPARATOR)
          places = program.include?("/") ? [program] : folders.map { |folder| File.join(folder, program) }
          places.any? { |path| File.file?(path) && File.executable?(path) }
        end

        def absolute(folder)
          File.expand_path(folder)
        rescue SystemCallError
          raise Error, "run: #{folder} cannot be found from here, because the working folder is gone: give its whole path"
        end

        # Asked once, before the command starts: it may change folders, and none of its processes should have to ask.
        def commit(now) = Git.labels(now, WorkingFolder.path).to_h { |label, value| ["RPERF_PUSH_#{label.upcase}", value] }
      end
    end
  end
end
