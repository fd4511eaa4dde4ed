# frozen_string_literal: true

require_relative "activity"

module RperfPush
  # Labels the samples of an action with `controller_action`: "admin/users#show". The label covers callbacks and rendering,
  # which an around_action in a base class could not guarantee.
  module ControllerLabel
    private

    def process_action(*)
      Activity.run({ controller_action: "#{controller_path}##{action_name}" }) { super }
    end
  end
end
