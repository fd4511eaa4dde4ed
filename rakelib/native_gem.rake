# frozen_string_literal: true

require_relative "native_gem"

namespace :gem do
  desc "Pack gems that need no compiler, for #{NativeGem::PLATFORMS.keys.join(" and ")} or the one that is given, into pkg/"
  task :native, [:platform] => %i[generate carry_page] do |_, given|
    (given.platform ? [given.platform] : NativeGem::PLATFORMS.keys).each { |platform| NativeGem.new(platform).pack }
  end
end
