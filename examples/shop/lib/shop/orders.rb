# frozen_string_literal: true

module Shop
  # Orders placed and kept.
  class Orders
    def initialize(database)
      @database = database
    end

    def place(email, cart)
      @database.transaction do
        @database.execute("INSERT INTO orders (email, cents, placed_on) VALUES (?, ?, date('now'))", [email, cart.total])
        id = @database.last_id
        cart.lines.each do |line|
          @database.execute("INSERT INTO order_lines VALUES (?, ?, ?)", [id, line.product[:id], line.quantity])
        end
        { id:, email:, **cart.to_h }
      end
    end

    def lines(limit)
      @database.query(<<~SQL, [limit])
        SELECT orders.id, orders.placed_on, orders.email, products.name, order_lines.quantity, products.cents
        FROM orders JOIN order_lines ON order_lines.order_id = orders.id JOIN products ON products.id = order_lines.product_id
        ORDER BY orders.id DESC LIMIT ?
      SQL
    end
  end
end
