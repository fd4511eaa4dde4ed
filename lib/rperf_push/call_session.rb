# frozen_string_literal: true

# Traces every call of this process for `rperf-push trace`, which put it into RUBYOPT: from the first line of the program's script until
# the program ends, also where it becomes another one by exec. The programs that it starts are not traced. It comes before Bundler and
# loads no other gem.
begin
  module RperfPush
    # The process's trace, and where it goes.
    module CallSession
      # A Hash of Marshal, in base64: path, given and before (of {Injection::Offer}), options of CallTrace; pid of the one that is traced
      VARIABLE = "RPERF_PUSH_CALLS"

      module_function

      # @return [Boolean] whether it is this process that is traced
      def begin
        require "rperf_push/injection"
        order = Marshal.load(ENV.fetch(VARIABLE) { return false }.unpack1("m0"))
        order[:pid] ||= Process.pid
        return withdraw(order) unless order[:pid] == Process.pid

        ENV[VARIABLE] = [Marshal.dump(order)].pack("m0")
        require "rperf_push"
        require "rperf_push/notice"
        @path, @pid = order.values_at(:path, :pid)
        @trace = CallTrace.new(**order[:options])
        @trace.costs
        true
      end

      # @return [false]
      def withdraw(order)
        ENV.delete(VARIABLE)
        Injection::Offer.new(order[:given], order[:before]).withdraw
        false
      end

      # What is still to be loaded before the script, by RubyGems and RUBYOPT, is not the program's.
      def start_with_script
        @script = TracePoint.new(:line) { |at| start if at.method_id.nil? && caller_locations(1, 1).first.label == "<main>" }
        @script.enable(target_thread: Thread.main)
      end

      # Nothing of ours may end the script.
      def start
        @script.disable
        @trace.start
      rescue StandardError, NotImplementedError, NoMemoryError => e
        @pid = nil # no process is traced
        refuse(e)
      end

      def refuse(error)
        $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not traced: #{error.message.lines.first.to_s.chomp}"
      end

      # First of all nothing more is counted.
      def finish
        @trace.pause
        return unless @pid == Process.pid

        start if @script.enabled? # there was no such line
        @trace.pause
        RperfPush.save(@path, @trace.data, format: :json) if @pid
      rescue StandardError, LoadError => e
        Notice.write("[rperf-push] #{@path}: #{e.message.lines.first.to_s.chomp}; what was traced is lost")
      end
    end
  end

  if RperfPush::CallSession.begin
    at_exit { RperfPush::CallSession.finish }
    RperfPush::CallSession.start_with_script
  end
rescue LoadError, SyntaxError, StandardError, NotImplementedError => e
  RperfPush::CallSession.refuse(e)
end
