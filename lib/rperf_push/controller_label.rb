# frozen_string_literal: true

require_relative "request_label"

module RperfPush
  # Labels an action's samples with `controller_action`: "admin/users#show". Callbacks and rendering are part of it, which
  # an around_action declared in a base class could not promise.
  module ControllerLabel
    private

    def process_action(*)
      RequestLabel.apply(controller_action: "#{controller_path}##{action_name}") { super }
    end
  end
end
