# frozen_string_literal: true

# Traces every call of this process for `rperf-push trace`, which put it into RUBYOPT: from the first line of the program's script until
# the program ends, also where it becomes another one by exec. The programs that it starts are not traced. It comes before Bundler and
# loads no other gem.
begin
  # A Hash of Marshal, in base64: path, given and before (of RperfPush::Injection::Offer), options of RperfPush::CallTrace; pid of the one
  # that is traced.
  order = ENV["RPERF_PUSH_CALLS"]&.then { |text| Marshal.load(text.unpack1("m0")) }
  if order && (order[:pid] ||= Process.pid) == Process.pid
    ENV["RPERF_PUSH_CALLS"] = [Marshal.dump(order)].pack("m0")
    require "rperf_push"
    require "rperf_push/sessions/traced_process"
    RperfPush::TracedProcess.begin(order)
  elsif order
    ENV.delete("RPERF_PUSH_CALLS")
    load("rperf_push/injection.rb", apart = Module.new) # the program sees nothing of a module that it can not use
    apart::RperfPush::Injection::Offer.new(order[:given], order[:before]).withdraw
  end
rescue LoadError, SyntaxError, StandardError, NotImplementedError => e
  Object.send(:remove_const, :RperfPush) if defined?(RperfPush) && !RperfPush.respond_to?(:label)
  $stderr.puts "[rperf-push] #{$0} (ruby #{RUBY_VERSION}) is not traced: #{e.message.lines.first.to_s.chomp}"
end
