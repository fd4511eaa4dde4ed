# frozen_string_literal: true

# Profiles this process as part of `rperf-push record`, `stat` or `exec`, which put it into RUBYOPT. Every Ruby program of the
# session loads it, whatever its version, and so does every one that its processes start when it is over. It must not harm the program.
begin
  folder = ENV.fetch("RPERF_PUSH_SESSION_DIR", nil)
  ended = folder ? !Dir.exist?(folder) : !ENV.key?("RPERF_PUSH_SESSION_OUTPUT")
  if ended
    load("rperf_push/injection.rb", apart = Module.new) # the program sees nothing of a module that it can not use
    apart::RperfPush::Injection::Offer.of_session.withdraw
  else
    require "rperf_push"
    require "rperf_push/sessions/session_member"
    RperfPush::SessionMember.join
  end
rescue LoadError, SyntaxError, StandardError => e
  Object.send(:remove_const, :RperfPush) if defined?(RperfPush) && !RperfPush.respond_to?(:label)
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not profiled: #{e.message.lines.first.to_s.chomp}" unless ended
end
