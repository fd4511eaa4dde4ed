# frozen_string_literal: true

# Carries on the session of a process above that called `RperfPush.start(inherit: true)`, which put this into RUBYOPT. Every Ruby
# program below it loads this, whatever its version. It must not harm the program.
begin
  require "rperf_push"
  require "rperf_push/descendants"
  RperfPush::Descendants.carry_on
rescue LoadError, SyntaxError, StandardError => e
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}"
end
