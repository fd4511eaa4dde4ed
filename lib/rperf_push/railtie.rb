# frozen_string_literal: true

require_relative "controller_label"

module RperfPush
  # What a Rails application gets by having the gem in its Gemfile: samples carry the controller's action, and
  # `rails g rperf_push:install` writes the initializer.
  #
  # Loaded with the gem, or by `configure` where the gem came before Rails. That may be late for an initializer of a railtie,
  # but never for these hooks: they run at once for what is loaded already.
  class Railtie < ::Rails::Railtie
    ActiveSupport.on_load(:action_controller_base) { prepend ControllerLabel }
    ActiveSupport.on_load(:action_controller_api) { prepend ControllerLabel }
  end
end
