# frozen_string_literal: true

require_relative "cli/errors"
require_relative "cli/printer"
require_relative "version"

module RperfPush
  # The program `rperf-push`. Each command is one file with one class in cli/commands, loaded on demand.
  module CLI
    # command => its description in `help`
    COMMANDS = {
      "record" => "run a command, and write the profile of its Ruby programs to a file",
      "stat" => "run a command, and print what its time went to",
      "exec" => "as stat, with tables of functions",
      "trace" => "run a program, and count every call of it",
      "report" => "print what profiles say: top functions, one method, a graph",
      "diff" => "print what differs between two profiles",
      "view" => "open profiles as a page in the browser",
      "check" => "push a tiny profile with the settings in effect, and say what is wrong",
      "push" => "upload pprof files",
      "run" => "run a command, and profile every Ruby program in it",
      "ps" => "list the processes that are profiled",
      "stacks" => "say where every thread of a process is now",
      "top" => "show what a process does, again and again",
      "live" => "open a page that grows while processes run",
      "attach" => "record in a running process, into a file",
      "help" => "show all of this, or the options of a command"
    }.freeze

    module_function

    # @param arguments [Array<String>] as in ARGV
    # @return [Integer] the exit status
    def run(arguments)
      perform(arguments).tap { $stdout.flush }
    rescue Errno::EPIPE
      1 # the reader closed the pipe
    rescue Errno::ENOSPC, Errno::EDQUOT, Errno::EIO => e
      Printer.err "rperf-push: standard output: #{reason(e)}"
      1
    end

    def perform(arguments)
      name, *rest = arguments.map { |argument| in_utf8(argument) }
      case name
      when nil, "help", "--help", "-h" then help(*rest)
      when "--version", "-v" then Printer.out "rperf-push #{VERSION}"
      else return command(name).run(rest)
      end
      0
    rescue Error => e
      Printer.err "rperf-push: #{e.message.lines.map(&:chomp).join("; ")}"
      e.exit_status
    rescue Interrupt
      130
    end

    private_class_method :perform

    # @return [String] the system's message without the path
    def reason(error) = error.message[/\A[^@(]*/].sub(/ - .*/, "").strip

    # Arguments that an OptionParser refuses are the user's error.
    #
    # @yieldreturn [Object] what the parser makes of them
    def parsing(command)
      yield
    rescue OptionParser::ParseError => e
      raise Error, "#{command}: #{e.message}"
    end

    # Without a locale, as in a container, arguments have no encoding and cannot be joined with text that has one.
    def in_utf8(argument)
      text = argument.dup.force_encoding(Encoding::UTF_8)
      text.valid_encoding? ? text : argument
    end

    # The help of one command, or the whole reference; `help man` and `help completion SHELL` are for packagers.
    def help(name = nil, *rest)
      require_relative "cli/reference"
      case name
      when nil, "help" then Printer.out Reference.text
      when "man" then Printer.out Reference.man
      when "completion" then Printer.out Reference.completion(rest.first.to_s)
      else Printer.out command(name).help
      end
    end

    # @return [Class] a class with `run` and `help`
    def command(name)
      raise Error, "unknown command #{name.inspect}; rperf-push help lists them" unless COMMANDS.key?(name) && name != "help"

      require_relative "cli/commands/#{name}"
      Commands.const_get(name.capitalize).new
    rescue LoadError => e
      raise Error, e.message.delete_prefix("rperf-push ")
    end
  end
end
