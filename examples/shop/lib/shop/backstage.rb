# frozen_string_literal: true

module Shop
  # The threads behind the counter. They do not survive a fork, so each worker starts its own.
  class Backstage
    def initialize(stock, bestsellers, mailer)
      @stock = stock
      @bestsellers = bestsellers
      @mailer = mailer
    end

    def start
      thread("stock") { @stock.refresh_forever }
      thread("bestsellers") { @bestsellers.recount_forever }
      thread("mailer") { @mailer.deliver_forever }
    end

    private

    def thread(name, &) = Thread.new(&).tap { |thread| thread.name = name }
  end
end
