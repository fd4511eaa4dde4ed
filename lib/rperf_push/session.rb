# frozen_string_literal: true

# Profiles this process as part of `rperf-push record`, `stat` or `exec`, which put it into RUBYOPT. Every Ruby program of the
# session loads it, whatever its version. It must not harm the program.
begin
  # Of a session that has ended there is nothing left but its variables.
  return unless ENV["RPERF_PUSH_SESSION_DIR"] ? Dir.exist?(ENV["RPERF_PUSH_SESSION_DIR"]) : ENV.key?("RPERF_PUSH_SESSION_OUTPUT")

  require "rperf_push"

  module RperfPush
    # This process's part of a session: it writes its windows into the session's folder, and at the end its resource usage.
    module Session
      VARIABLES = %w[
        DIR PARENT OUTPUT MODE FREQUENCY LINES AGGREGATE ENGINE INHERIT
      ].to_h { |name| [name, "RPERF_PUSH_SESSION_#{name}"] }.freeze

      module_function

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

      def setting(name) = ENV.fetch(VARIABLES.fetch(name), nil)

      def begin
        modes = setting("MODE").to_s.split(",").map(&:to_sym)
        @settings = { frequency: Integer(setting("FREQUENCY")), mode: modes, lines: setting("LINES") != "0",
                      aggregate: setting("AGGREGATE") != "0", engine: (setting("ENGINE") || "auto").to_sym }
        @directory = setting("DIR")
        @usage = Usage.new
        OnDemand.record(@directory, **@settings)
        @pid = Process.pid
      end

      # A forked child continues on its own, with its own files.
      def begin_in_child
        @pid = nil
        return unless setting("INHERIT") != "0" && Dir.exist?(@directory)

        self.begin
      rescue StandardError => e
        $stderr.puts "[rperf-push] the child #{Process.pid} is not profiled: #{e.message}"
      end

      def finish
        return unless @pid == Process.pid && Dir.exist?(@directory)

        recorded = OnDemand.stop_recorded or return
        File.write("#{@directory}/.#{@pid}.json", JSONText.of(used.merge(recorded.slice(:trigger_count, :sampling_time_ns))))
        File.rename("#{@directory}/.#{@pid}.json", "#{@directory}/#{@pid}.json")
      rescue SystemCallError => e
        $stderr.puts "[rperf-push] #{@pid}: what it used is lost: #{e.message}"
      end

      def used
        yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? RubyVM::YJIT.runtime_stats : nil
        { pid: @pid, ppid: Process.ppid, ruby_version: RUBY_VERSION, yjit: !yjit.nil?, yjit_ratio: yjit&.fetch(:ratio_in_yjit, nil),
          **@usage.all }
      end

      # Runs before anything that Ruby or a gem does in a child.
      module Fork
        def _fork
          super.tap { |pid| Session.begin_in_child if pid.zero? }
        end
      end
    end
  end

  if RperfPush::Session.root?
    require "rperf_push/session_root"
    RperfPush::SessionRoot.begin
  end
  if RperfPush::Session.wanted?
    RperfPush::Session.begin
    at_exit { RperfPush::Session.finish }
    Process.singleton_class.prepend(RperfPush::Session::Fork)
  end
rescue LoadError, SyntaxError, StandardError => e
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}"
end
