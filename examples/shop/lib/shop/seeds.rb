# frozen_string_literal: true

require "bcrypt"

module Shop
  # The same goods, customers and history of orders at every boot.
  class Seeds
    PRODUCTS = 600
    CUSTOMERS = 6
    ORDERS = 3_000
    PASSWORD = "correct horse battery staple"
    BCRYPT_COST = 8

    QUALITIES = %w[small large red blue green striped folding wooden silent sturdy light warm].freeze
    THINGS = %w[lamp chair kettle table bicycle umbrella clock blanket notebook backpack teapot shelf radio mirror].freeze
    WORDS = %w[with a handle for long evenings made of oak steel wool and glass by hand it keeps its promise every day].freeze

    SCHEMA = <<~SQL
      CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, cents INTEGER NOT NULL);
      CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, password_digest TEXT NOT NULL);
      CREATE TABLE orders (id INTEGER PRIMARY KEY, email TEXT NOT NULL, cents INTEGER NOT NULL, placed_on TEXT NOT NULL);
      CREATE TABLE order_lines (order_id INTEGER NOT NULL, product_id INTEGER NOT NULL, quantity INTEGER NOT NULL);
      CREATE INDEX order_lines_by_product ON order_lines (product_id);
    SQL

    def initialize
      @random = Random.new(42)
    end

    def plant(database)
      database.execute_batch(SCHEMA)
      database.transaction do
        plant_products(database)
        plant_customers(database)
        plant_orders(database)
      end
    end

    private

    def plant_products(database)
      PRODUCTS.times do
        name = "#{QUALITIES.sample(random: @random)} #{THINGS.sample(random: @random)}".capitalize
        database.execute("INSERT INTO products (name, description, cents) VALUES (?, ?, ?)",
                         [name, description, @random.rand(500..50_000)])
      end
    end

    def plant_customers(database)
      digest = BCrypt::Password.create(PASSWORD, cost: BCRYPT_COST).to_s
      CUSTOMERS.times do |number|
        database.execute("INSERT INTO customers (email, password_digest) VALUES (?, ?)",
                         ["customer#{number}@example.com", digest])
      end
    end

    def plant_orders(database)
      ORDERS.times do |number|
        database.execute("INSERT INTO orders (id, email, cents, placed_on) VALUES (?, ?, ?, date('now', ?))",
                         [number + 1, "customer#{number % CUSTOMERS}@example.com", @random.rand(500..90_000),
                          "-#{@random.rand(90)} days"])
        database.execute("INSERT INTO order_lines VALUES (?, ?, ?)",
                         [number + 1, @random.rand(1..PRODUCTS), @random.rand(1..4)])
      end
    end

    def description = Array.new(@random.rand(20..60)) { WORDS.sample(random: @random) }.join(" ").capitalize
  end
end
