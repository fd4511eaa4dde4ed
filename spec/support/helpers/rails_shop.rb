# frozen_string_literal: true

# A Rails application in a program of the specs, to be reopened and initialized there.
module RailsShop
  # Ruby code. Rails is loaded, and so is the gem, in the order that matters to the spec.
  CODE = <<~RUBY
    class Shop < Rails::Application
      config.load_defaults Rails::VERSION::STRING.to_f
      config.eager_load = false
      config.secret_key_base = "x" * 40
      config.hosts.clear
      config.logger = Logger.new(nil)
      config.root = ENV.fetch("SHOP_ROOT")
    end
  RUBY
end
