# frozen_string_literal: true

module RperfPush
  # Labels what a request or an action does, for integrations: where the label cannot be set (more than 64 of them), the
  # work is done without it.
  module RequestLabel
    module_function

    # @return [Object] the block's value
    def apply(labels)
      entered = false
      begin
        return RperfPush.label(**labels) do
          entered = true
          yield
        end
      rescue StandardError
        raise if entered # the application's own
      end
      yield
    end
  end
end
