# frozen_string_literal: true

module Shop
  # What is for sale, and how it is found.
  class Catalog
    PAGE_SIZE = 24
    LEAKS = ENV["SHOP_LEAK"] == "1"

    def initialize(database, stock)
      @database = database
      @stock = stock
      @found = {}
    end

    def page(number)
      with_stock(@database.query("SELECT * FROM products ORDER BY name, id LIMIT ? OFFSET ?",
                                 [PAGE_SIZE, (number - 1) * PAGE_SIZE]))
    end

    def product(id)
      found = @database.first("SELECT * FROM products WHERE id = ?", [id])
      found && with_stock([found]).first
    end

    def products(ids)
      marks = Array.new(ids.size, "?").join(", ")
      with_stock(@database.query("SELECT * FROM products WHERE id IN (#{marks})", ids))
    end

    # What people bought who bought this.
    def related(id)
      with_stock(@database.query(<<~SQL, [id, id]))
        SELECT products.*, SUM(other.quantity) AS sold
        FROM orders AS mine
        JOIN order_lines AS line ON line.order_id = mine.id AND line.product_id = ?
        JOIN orders AS again ON again.email = mine.email
        JOIN order_lines AS other ON other.order_id = again.id
        JOIN products ON products.id = other.product_id AND products.id <> ?
        GROUP BY products.id ORDER BY sold DESC LIMIT 4
      SQL
    end

    # The database finds what contains a word, Ruby puts the closest first.
    def search(text)
      words = text.downcase.scan(/\w+/).first(5)
      return [] if words.empty?

      found = rank(candidates(words), words).first(PAGE_SIZE)
      remember(text, found) if LEAKS
      found
    end

    private

    # For those who ask again. With the time in the key nobody ever finds it, and nothing ever ends it: a leak, with SHOP_LEAK=1.
    def remember(text, found)
      @found[[text, Time.now]] = found
    end

    def candidates(words)
      clause = words.map { "(lower(name) LIKE ? OR lower(description) LIKE ?)" }.join(" OR ")
      with_stock(@database.query("SELECT * FROM products WHERE #{clause} LIMIT 80", words.flat_map { |word| ["%#{word}%"] * 2 }))
    end

    def rank(products, words)
      products.sort_by { |product| distance(product[:name].downcase, words) }
    end

    def distance(name, words)
      names = name.split
      words.sum { |word| names.map { |part| edit_distance(part, word) }.min }
    end

    def edit_distance(from, to)
      row = (0..to.size).to_a
      from.each_char.with_index(1) do |left, line|
        corner = row[0]
        row[0] = line
        to.each_char.with_index(1) do |right, column|
          corner, row[column] = row[column], [row[column] + 1, row[column - 1] + 1, corner + (left == right ? 0 : 1)].min
        end
      end
      row.last
    end

    def with_stock(products) = products.each { |product| product[:stock] = @stock.level(product[:id]) }
  end
end
