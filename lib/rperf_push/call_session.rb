# frozen_string_literal: true

# Traces every call of this process for `rperf-push trace`, which put it into RUBYOPT: from here until the program ends. The programs
# that it starts are not traced.
begin
  require "json"
  require "rperf_push"

  module RperfPush
    # The process's trace, and where it goes.
    module CallSession
      VARIABLE = "RPERF_PUSH_CALLS" # JSON: path, rubyopt and rubylib as they were, options of CallTrace

      module_function

      # @return [Boolean] whether it is this process that is to be traced
      def begin
        order = JSON.parse(ENV.delete(VARIABLE) || "null", symbolize_names: true) or return false
        %i[rubyopt rubylib].each { |name| ENV[name.to_s.upcase] = order[name] }
        @path = order[:path]
        @pid = Process.pid
        options = order[:options]
        @trace = CallTrace.new(**options, mode: options[:mode].map(&:to_sym))
        true
      end

      def start = @trace.start

      def finish
        return unless @pid == Process.pid

        @trace.pause
        RperfPush.save(@path, @trace.data, format: :json)
      rescue SystemCallError => e
        $stderr.puts "[rperf-push] #{@path}: what was traced is lost: #{e.message}"
      end
    end
  end

  if RperfPush::CallSession.begin
    at_exit { RperfPush::CallSession.finish }
    RperfPush::CallSession.start
  end
rescue LoadError, SyntaxError, StandardError, NotImplementedError => e
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not traced: #{e.message.lines.first.to_s.chomp}"
end
