# frozen_string_literal: true

module Shop
  # What sells well lately, worked out anew every second by a background thread.
  class Bestsellers
    EVERY_SECONDS = 1
    KEPT = 12
    HALF_LIFE_DAYS = 14.0

    attr_reader :ids

    def initialize(database)
      @database = database
      @ids = (1..KEPT).to_a
    end

    def recount_forever
      loop do
        recount
        sleep(EVERY_SECONDS)
      end
    end

    def recount
      scores = Hash.new(0.0)
      sales.each { |sale| scores[sale[:product_id]] += sale[:quantity] * weight(sale[:days]) }
      @ids = scores.max_by(KEPT) { |_, score| score }.map(&:first)
    end

    private

    def weight(days) = 0.5**(days / HALF_LIFE_DAYS)

    def sales
      @database.query(<<~SQL)
        SELECT product_id, quantity, julianday('now') - julianday(placed_on) AS days
        FROM order_lines JOIN orders ON orders.id = order_lines.order_id
      SQL
    end
  end
end
