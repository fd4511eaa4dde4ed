# frozen_string_literal: true

# Carries on the session of a process above that called `RperfPush.start(inherit: true)`, which put this into RUBYOPT. Every Ruby
# program below it loads this, whatever its version. It must not harm the program.
begin
  if Dir.exist?(ENV["RPERF_PUSH_INHERITED_DIR"].to_s)
    require "rperf_push"
    require "rperf_push/sessions/descendants"
    RperfPush::Descendants.carry_on
  else # the session has ended
    load("rperf_push/injection.rb", apart = Module.new) # the program sees nothing of a module that it can not use
    apart::RperfPush::Injection::Offer.found.withdraw
  end
rescue LoadError, SyntaxError, StandardError => e
  Object.send(:remove_const, :RperfPush) if defined?(RperfPush) && !RperfPush.respond_to?(:label)
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}"
end
