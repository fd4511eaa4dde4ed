# frozen_string_literal: true

require "rperf_push/rack"

# Where profiles go and how often comes from the environment: RPERF_PUSH_SERVER_ADDRESS, RPERF_PUSH_BACKEND and so on.
RperfPush.configure do |config|
  config.application_name = "shop"
end
