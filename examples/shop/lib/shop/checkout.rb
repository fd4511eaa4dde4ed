# frozen_string_literal: true

module Shop
  # From a cart to an order: paid for first, written down second, confirmed by mail.
  class Checkout
    def initialize(upstream, orders, mailer)
      @upstream = upstream
      @orders = orders
      @mailer = mailer
    end

    def call(email, cart)
      payment = authorize_payment(email, cart.total)
      order = @orders.place(email, cart)
      @mailer.confirm(order)
      { order: order[:id], total: order[:total], payment: payment[:reference] }
    end

    private

    def authorize_payment(email, cents) = @upstream.post("/payments", { email:, cents: })
  end
end
