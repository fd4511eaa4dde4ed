# frozen_string_literal: true

module Shop
  # How many of each product are left, as the warehouse last told. A background thread asks again and again.
  class Stock
    POLL_SECONDS = 0.5

    def initialize(upstream)
      @upstream = upstream
      @levels = {}
    end

    def level(product_id) = @levels.fetch(product_id, 0)

    def refresh_forever
      loop do
        refresh
        sleep(POLL_SECONDS)
      end
    end

    # A new hash takes the old one's place, so readers need no lock.
    def refresh
      @levels = @upstream.get("/stock")[:levels].to_h
    rescue Upstream::Failed, SystemCallError, Timeout::Error => e
      warn "shop: stock levels are stale: #{e.message}"
    end
  end
end
