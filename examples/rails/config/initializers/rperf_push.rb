# frozen_string_literal: true

# The file that `rails generate rperf_push:install` writes.
load File.expand_path("../../../../config/initializers/rperf_push.rb", __dir__)
