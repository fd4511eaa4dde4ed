# frozen_string_literal: true

require "rails"
require "active_record/railtie"
require "active_job/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "sqlite3"
require "solid_queue"
# Without it in here, the application runs as under `rperf-push run`.
require "rperf_push" unless ENV["BOOKSHOP_WITHOUT_GEM"]

module Bookshop
  class Application < Rails::Application
    config.load_defaults 8.0
    config.root = File.expand_path("..", __dir__)
    config.eager_load = Rails.env.production?
    config.secret_key_base = "no secret: it runs on 127.0.0.1 only"
    config.hosts.clear
    config.consider_all_requests_local = false
    config.active_job.queue_adapter = ENV.fetch("BOOKSHOP_QUEUE", "solid_queue").to_sym
    config.active_record.maintain_test_schema = false
    config.paths["tmp"] = ENV.fetch("BOOKSHOP_TMP") { File.expand_path("../../../tmp/rails", __dir__) }
    config.paths["log"] = File.join(config.paths["tmp"].first, "#{Rails.env}.log")
    config.log_level = :info
    config.logger = ActiveSupport::Logger.new($stdout)
    config.filter_parameters = [:email]
  end
end
