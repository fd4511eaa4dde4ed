# frozen_string_literal: true

# Profiles this process with the settings of the environment: `ruby -rrperf_push/autostart program.rb`. `rperf-push run` puts
# it into RUBYOPT, so any Ruby program of any version may load it. It must not harm the program.
begin
  require "rperf_push"
  RperfPush.configure unless RperfPush::Native.running?
rescue LoadError, SyntaxError, StandardError => e
  Object.send(:remove_const, :RperfPush) if defined?(RperfPush) && !RperfPush.respond_to?(:label)
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}"
end
