# frozen_string_literal: true

# Profiles this process with the settings of the environment: `ruby -rrperf_push/autostart program.rb`. `rperf-push run` puts
# it into RUBYOPT, so it may come into any Ruby program, of any version, and must harm none.
begin
  require "rperf_push"
  RperfPush.configure unless RperfPush.running?
rescue LoadError, SyntaxError, StandardError => e
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}"
end
