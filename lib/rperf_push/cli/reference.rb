# frozen_string_literal: true

require_relative "options"

module RperfPush
  module CLI
    # The whole reference as one text, the man page, and the shells' completions. All of them are generated from
    # {COMMANDS} and {Options::TABLE}.
    module Reference
      TOPICS = {
        "MODES" => <<~TEXT,
          cpu         CPU time of each thread. It shows computing, but not waiting.
          wall        elapsed time of each thread. It also shows waiting: I/O, sleep, locks, the GVL.
          alloc       objects that are created, by stack and class: alloc_objects, and alloc_space in bytes.
          heap        those of them that are still alive: inuse_objects, and inuse_space in bytes.
          contention  how often and how long threads wait for each other: contentions, and delay.
          custom      only what the program counts itself (RperfPush.sample), which is in all modes.
          cpu,wall    both in one run: the weight is cpu, wall is a second value (report --value wall).
        TEXT
        "STATES" => <<~TEXT,
          Labels of samples, beside those of RperfPush.label; on servers gvl_state, gc_phase, pid. report knows both names:
          %GVL=blocked  off the GVL: I/O, sleep, C code that released it (wall), and CPU time that was used there (cpu)
          %GVL=wait     ready, but another thread held the GVL (wall; in cpu next to nothing)
          %GC=mark      marking; %GC=sweep: sweeping (both modes; cpu weighs their CPU time)
          %pid          the process, for children of the recorded program; thread_seq: the thread.
        TEXT
        "FORMATS" => <<~TEXT,
          .json.gz, .json    the native format: everything, for report, diff and RperfPush.load
          .pb.gz, .pb        pprof: go tool pprof, speedscope, Pyroscope, Parca
          .collapsed         root;...;leaf nanoseconds (or what the first line says): flamegraph.pl, speedscope; without labels
          .txt               the text report; any other extension means pprof. Readers look at content, not at names.
        TEXT
        "WHAT TO DO" => <<~TEXT,
          High CPU           record -m cpu, then report: the flat table names the functions that compute.
          Slow requests      record -m wall, then report --by-label %GVL. Mostly blocked: the cumulative table names the
                             functions that do I/O. Mostly wait: threads wait for the GVL; hold it less, or use more processes.
          GC pressure        report --by-label %GC. Much mark: many live objects. Much sweep: many short-lived objects:
                             record -m alloc names who creates them, -m heap what stays. stat counts collections.
          Slow with threads  stat: see the row GVL wait. Then report --collapsed --synthetic-frames.
          Flat time is a function's self time; cumulative time includes the functions that it calls.
        TEXT
        "EXIT STATUS" => <<~TEXT,
          record, stat and exec return the command's status; 128 + N if signal N killed it; 126 if it cannot run,
          127 if it does not exist; 1 if an argument is wrong, before the command runs. The others return 0 or 1.
        TEXT
        "ENVIRONMENT" => <<~TEXT
          RPERF_PUSH_SESSION_*, RPERF_PUSH_INHERITED*   set by record and RperfPush.start(inherit: true); not to be set by hand
          RPERF_PUSH_TMPDIR, TMPDIR, XDG_RUNTIME_DIR    where a session keeps its windows until it ends
          RPERF_PUSH_<OPTION>     settings of continuous profiling (run, check, push)
        TEXT
      }.freeze
      BASH = <<~BASH
        _rperf_push() {
          local current=${COMP_WORDS[COMP_CWORD]} words=
          if [ "$COMP_CWORD" -eq 1 ]; then
            COMPREPLY=($(compgen -W %<commands>s -- "$current"))
            return
          fi
          case ${COMP_WORDS[1]} in
        %<cases>s
            help) words=%<topics>s ;;
          esac
          case $current in
            -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
            *) if [ "${COMP_WORDS[1]}" = help ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -c -- "$current")); fi ;;
          esac
        }
        complete -o filenames -F _rperf_push rperf-push
      BASH

      # As a function that zsh loads at the first completion, which it then has to do as well; or read by `eval`.
      ZSH = <<~ZSH
        #compdef rperf-push
        autoload -U +X bashcompinit && bashcompinit
        %<bash>s
        if [[ $funcstack[1] = _rperf-push ]]; then _bash_complete -o filenames -F _rperf_push; fi
      ZSH

      module_function

      # @return [String]
      def text
        commands = COMMANDS.map { |name, text| format("  %-8s%s\n", name, text) }.join
        options = Options::TABLE.keys.map { |name| "#{name}:\n#{Options.help(name)}\n" }.join
        topics = TOPICS.map { |title, text| "#{title}\n\n#{indented(text)}\n" }.join
        "rperf-push #{VERSION} - a profiler for Ruby\n\nusage: rperf-push COMMAND [OPTIONS] ...\n\nCOMMANDS\n\n#{commands}\n" \
          "rperf-push help COMMAND shows its options, rperf-push --version the version.\n" \
          "check, push and run take the settings from the environment: RPERF_PUSH_SERVER_ADDRESS, ...\n\nOPTIONS\n\n#{options}#{topics}"
      end

      # @return [String] for man(1)
      def man
        commands = COMMANDS.map { |name, text| ".TP\n.B #{name}\n#{roff(text)}\n" }.join
        options = Options::TABLE.map do |name, list|
          ".SS #{name}\n" + list.map { |option| ".TP\n.B #{roff(option.flags.join(", "))}\n#{roff(option.text)}\n" }.join
        end.join
        topics = TOPICS.map { |title, text| ".SH #{title}\n.nf\n#{roff(text)}.fi\n" }.join
        ".TH RPERF-PUSH 1 \"\" \"rperf-push #{VERSION}\"\n.SH NAME\nrperf-push \\- a profiler for Ruby\n.SH SYNOPSIS\n" \
          ".B rperf-push\nCOMMAND [OPTIONS] ...\n.SH COMMANDS\n#{commands}.SH OPTIONS\n#{options}#{topics}"
      end

      # @param shell [String] bash or zsh
      # @return [String]
      def completion(shell)
        case shell
        when "bash" then bash
        when "zsh" then format(ZSH, bash: bash.chomp)
        else raise Error, "help completion: bash or zsh, got #{shell.inspect}"
        end
      end

      # After the options come files, or a command with its own options.
      def bash
        cases = Options::TABLE.map { |name, list| "    #{name}) words=#{quoted(list.flat_map { |option| words(option) })} ;;\n" }.join
        topics = quoted(COMMANDS.keys + %w[man completion])
        format(BASH, commands: quoted(COMMANDS.keys), cases: cases.chomp, topics:)
      end

      def words(option) = ["--#{option.long}", *("-#{option.short}" if option.short)]
      def quoted(words) = "\"#{words.join(" ")}\""
      def indented(text) = text.gsub(/^(?=.)/, "  ")
      def roff(text) = text.gsub("\\", "\\e").gsub("-", "\\-").gsub(/^\./, "\\\\&.")
      private_class_method :bash, :words, :quoted, :indented, :roff
    end
  end
end
