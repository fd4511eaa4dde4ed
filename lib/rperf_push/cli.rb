# frozen_string_literal: true

require_relative "version"

module RperfPush
  # The program `rperf-push`: one file and one class for each command, loaded when it is asked for.
  module CLI
    # What the user can mend: one line on standard error, exit 1.
    class Mistake < StandardError; end

    # command => what `help` says of it
    COMMANDS = {
      "check" => "push a tiny profile with the settings in effect, and say what is wrong",
      "push" => "upload pprof files",
      "run" => "run a command, and profile every Ruby program in it",
      "help" => "show this, or the options of a command"
    }.freeze

    module_function

    # @param arguments [Array<String>] as in ARGV
    # @return [Integer] the exit status
    def run(arguments)
      name, *rest = arguments
      case name
      when nil, "help", "--help", "-h" then help(rest.first)
      when "--version", "-v" then puts "rperf-push #{VERSION}"
      else return command(name).run(rest)
      end
      0
    rescue Mistake => e
      $stderr.puts "rperf-push: #{e.message.lines.map(&:chomp).join("; ")}"
      1
    rescue Errno::EPIPE
      1 # whoever read the output has seen enough
    rescue Interrupt
      130
    end

    def help(name)
      return puts(command(name).help) if name && name != "help"

      puts "rperf-push #{VERSION} - a continuous profiler for Ruby", "", "usage: rperf-push COMMAND [OPTIONS] ...", ""
      COMMANDS.each { |command, text| puts format("  %-8s%s", command, text) }
      puts "", "rperf-push help COMMAND shows its options, rperf-push --version the version."
      puts "All of them take the settings from the environment: RPERF_PUSH_SERVER_ADDRESS, RPERF_PUSH_APPLICATION_NAME, ..."
    end

    # @return [Class] with `run` and `help`
    def command(name)
      raise Mistake, "unknown command #{name.inspect}; rperf-push help lists them" unless COMMANDS.key?(name) && name != "help"

      require_relative "cli/#{name}"
      const_get(name.capitalize).new
    end
  end
end
