# frozen_string_literal: true

require "rails/generators/base"

module RperfPush
  module Generators
    # rails g rperf_push:install
    class InstallGenerator < ::Rails::Generators::Base
      desc "Writes config/initializers/rperf_push.rb: every option, commented with its default."
      source_root File.expand_path("../../../config/initializers", __dir__)

      def copy_initializer
        copy_file "rperf_push.rb", "config/initializers/rperf_push.rb"
      end

      def say_what_is_next
        say <<~TEXT

          Next:
            1. Say where profiles go: config.server_address in config/initializers/rperf_push.rb, or RPERF_PUSH_SERVER_ADDRESS.
               The default is http://localhost:4040. config.directory writes files instead, without a server.
            2. Try it: bundle exec rperf-push check --config config/initializers/rperf_push.rb
            3. Start the application. In production, servers and workers are profiled.
               Elsewhere it is off: RPERF_PUSH_ENABLED=true bin/rails server switches it on.
        TEXT
      end
    end
  end
end
