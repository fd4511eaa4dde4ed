# frozen_string_literal: true

require_relative "controller_label"

module RperfPush
  # What a Rails application gets by having the gem in its Gemfile: samples carry the controller's action, and
  # `rails g rperf_push:install` writes the initializer.
  class Railtie < ::Rails::Railtie
    initializer "rperf_push.controller_label" do
      ActiveSupport.on_load(:action_controller_base) { prepend ControllerLabel }
      ActiveSupport.on_load(:action_controller_api) { prepend ControllerLabel }
    end
  end
end
