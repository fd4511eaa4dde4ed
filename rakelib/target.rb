# frozen_string_literal: true

# Read before extconf.rb, has mkmf compile for another system than this one: with that system's compiler and libraries and, where
# it has another processor, with the settings of a Ruby that was built for it.
require "rbconfig"

settings = Dir["#{ENV.fetch("RPERF_PUSH_TARGET_ROOT")}/usr/lib/*/ruby/#{RbConfig::CONFIG["ruby_version"]}/rbconfig.rb"].first
if settings
  Object.send(:remove_const, :RbConfig)
  load settings
end
RbConfig.fire_update!("CC", ENV.fetch("RPERF_PUSH_TARGET_CC"))
