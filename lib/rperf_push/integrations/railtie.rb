# frozen_string_literal: true

require_relative "controller_label"
require_relative "../sessions/first_session"
require_relative "request"
require_relative "routers"

module RperfPush
  # The integration with Rails, for an application with the gem in its Gemfile or under `rperf-push run`: samples carry the
  # route of the request and the controller's action, or the job's class and queue. `rails g rperf_push:install` writes the initializer.
  #
  # It is loaded with the gem, or as soon as Rails is defined (see {AwaitRails}), and hooks into Rails when something is sampled first
  # (see {FirstSession}). That may be too late for an initializer of a railtie, but not for these hooks: they run at once for parts that
  # are already loaded.
  class Railtie < ::Rails::Railtie
    # Wraps the application with all of its middleware: the router names the request, wherever it is.
    module EachRequest
      def call(env) = Request.run(env) { super }
    end

    ActiveSupport.on_load(:before_initialize) { Native.root = ::Rails.root.to_s if ::Rails.root }

    FirstSession.on_begin do
      ActiveSupport.on_load(:before_configuration) { ::Rails::Application.prepend(EachRequest) }
      # Runs twice, because the application's own initializers may load more in between.
      %i[before_initialize after_initialize].each { |moment| ActiveSupport.on_load(moment) { Routers.hook } }
      ActiveSupport.on_load(:action_controller_base) { prepend ControllerLabel }
      ActiveSupport.on_load(:action_controller_api) { prepend ControllerLabel }
      ActiveSupport.on_load(:active_job) do
        require_relative "../active_job"
        include ActiveJobMiddleware
      end
    end
  end
end
