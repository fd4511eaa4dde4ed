# frozen_string_literal: true

require_relative "../injection"
require_relative "../base/notice"

module RperfPush
  # This process's part of a session: it writes its windows into the session's folder, and at the end its resource usage.
  module SessionMember
    VARIABLES = %w[DIR PARENT OUTPUT INHERIT OPTIONS].to_h { |name| [name, "RPERF_PUSH_SESSION_#{name}"] }.freeze

    module_function

    # What a session whose root was killed has left belongs to no session: the next program of its processes finds nothing of it.
    def join
      return leave if abandoned?(setting("DIR"))

      begin_as_root if root?
      return unless wanted?

      self.begin
      at_exit { finish }
      Process.singleton_class.prepend(Fork)
    end

    # Without `inherit`, only the process that the command line started itself, or that is the root.
    def wanted?
      return false if setting("DIR").nil? || !Dir.exist?(setting("DIR"))

      setting("INHERIT") != "0" || Process.ppid.to_s == setting("PARENT") || root?
    end

    # Without a command line that waits (`record --print-env`), the first Ruby program is the root, also when it becomes another
    # one by exec. Commands that read profiles are none.
    def root?
      return false if setting("OUTPUT").nil?

      setting("DIR") ? Native.own_session?(setting("DIR")) : File.basename($0) != "rperf-push"
    end

    def begin_as_root
      require_relative "session_root"
      SessionRoot.begin
    end

    def setting(name) = ENV.fetch(VARIABLES.fetch(name), nil)

    def begin
      @directory = setting("DIR")
      @began_ns = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
      @usage = Usage.new
      @own_switches = Native.own_switches
      OnDemand.record(@directory, **StartOptions.of_text(setting("OPTIONS")))
      @pid = Process.pid
    end

    # A forked child continues on its own, with its own files.
    def begin_in_child
      @pid = nil
      begin_again("the child") if setting("INHERIT") != "0" && Dir.exist?(@directory)
    end

    # @param process [String] for the message
    def begin_again(process)
      self.begin
    rescue StandardError => e
      Notice.write("[rperf-push] #{process} #{Process.pid} is not profiled: #{e.message}")
    end

    # @param ended [Array<Proc>] gets what continues, if exec fails
    def before_exec(ended)
      return unless @pid == Process.pid

      ended << -> { begin_again("the process") }
      finish
    end

    def finish
      return unless @pid == Process.pid && Dir.exist?(@directory)

      usage = used
      recorded = OnDemand.stop_recorded or return
      name = "#{@pid}-#{@began_ns}.json" # the process may become another program, which has its own
      said = usage.merge(recorded.slice(:trigger_count, :sampling_time_ns), shape: shape(recorded))
      File.binwrite("#{@directory}/.#{name}", JSONText.of(said))
      File.rename("#{@directory}/.#{name}", "#{@directory}/#{name}")
    rescue SystemCallError => e
      Notice.write("[rperf-push] #{@pid}: what it used is lost: #{e.message[/\A[^@]*/].strip}") if Dir.exist?(@directory)
    end

    # Of a profile without samples: windows without any become no file.
    def shape(recorded)
      values = Values.names(recorded).drop(1).to_h { |name| [name, []] }
      recorded.slice(:frequency, :effective_frequency, :start_time_ns, :duration_ns, :units)
              .merge(mode: Array(recorded[:mode]), **(values.any? ? { values: } : {}))
    end

    # For a process that lives on when no process is there any more to read what it records: what it starts from now on knows nothing
    # of the session.
    def ended = (leave if @directory && abandoned?(@directory))

    def leave
      require_relative "session_folder"
      SessionFolder.remove(@directory || setting("DIR"))
      Injection::Offer.of_session.withdraw
    end

    def abandoned?(folder) = !folder.nil? && Native.abandoned?(folder)

    def used
      yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? RubyVM::YJIT.runtime_stats : nil
      { pid: @pid, ppid: Process.ppid, ruby_version: RUBY_VERSION, yjit: !yjit.nil?, yjit_ratio: yjit&.fetch(:ratio_in_yjit, nil),
        **without_own }
    end

    # The thread that ticks sleeps and wakes more often than most programs do. It has to be there still. Its switches are read first: what
    # it does meanwhile must not be taken from the program.
    def without_own
      own = Native.own_switches
      @usage.all.merge(own) { |name, all, ours| [all - ours + @own_switches[name], 0].max }
    end

    # Runs before anything that Ruby or a gem does in a child.
    module Fork
      def _fork
        super.tap { |pid| SessionMember.begin_in_child if pid.zero? }
      end

      # Forks without _fork, and ends the parent without at_exit.
      def daemon(...)
        SessionMember.finish
        super
      ensure
        SessionMember.begin_in_child
      end
    end
  end
end
