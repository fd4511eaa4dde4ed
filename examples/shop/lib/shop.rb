# frozen_string_literal: true

# A small shop with the habits of a big one: templates, SQL, an upstream that makes people wait, threads in the back.
module Shop
  ROOT = File.expand_path("..", __dir__)

  class << self
    # The one shop of this process and of the workers forked from it.
    def application = @application ||= Application.new
    def backstage = application.backstage
  end
end

require_relative "shop/database"
require_relative "shop/seeds"
require_relative "shop/cache"
require_relative "shop/upstream"
require_relative "shop/stock"
require_relative "shop/catalog"
require_relative "shop/cart"
require_relative "shop/customers"
require_relative "shop/mailer"
require_relative "shop/orders"
require_relative "shop/checkout"
require_relative "shop/sales_report"
require_relative "shop/bestsellers"
require_relative "shop/renderer"
require_relative "shop/compression"
require_relative "shop/backstage"
require_relative "shop/application"
require_relative "shop/debug"
