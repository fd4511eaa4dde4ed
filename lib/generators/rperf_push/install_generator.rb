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
    end
  end
end
