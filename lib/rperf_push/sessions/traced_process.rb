# frozen_string_literal: true

require_relative "../calls/call_trace"
require_relative "../base/notice"

module RperfPush
  # The process's trace for `rperf-push trace`, and where it goes.
  module TracedProcess
    module_function

    # @param order [Hash] path, pid and options of {CallTrace}
    # @return [void]
    def begin(order)
      @path, @pid = order.values_at(:path, :pid)
      @trace = CallTrace.new(**order[:options])
      @trace.costs
      start_with_script
      at_exit { finish }
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
      Notice.write("[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not traced: #{e.message.lines.first.to_s.chomp}")
    end

    # What the process becomes by exec may be no Ruby program. If it is one, its calls take the place of these.
    #
    # @param ended [Array<Proc>] gets what goes on, if exec fails
    # @return [void]
    def before_exec(ended)
      return unless @pid == Process.pid && @trace.pause

      ended << -> { @trace.resume }
      save
    end

    # First of all nothing more is counted.
    def finish
      @trace.pause
      return unless @pid == Process.pid

      start if @script.enabled? # there was no such line
      @trace.pause
      save if @pid
    end

    def save
      RperfPush.save(@path, @trace.data, format: :json)
    rescue StandardError, LoadError => e
      Notice.write("[rperf-push] #{@path}: #{e.message.lines.first.to_s.chomp}; what was traced is lost")
    end
    private_class_method :start_with_script, :start, :finish, :save
  end
end
