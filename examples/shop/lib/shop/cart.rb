# frozen_string_literal: true

module Shop
  # Products and how many of each, with what they cost together.
  class Cart
    TAX = 20r / 120
    FREE_SHIPPING_FROM = 10_000
    SHIPPING = 490

    Line = Struct.new(:product, :quantity) do
      def cents = product[:cents] * quantity
      def to_h = { id: product[:id], name: product[:name], quantity:, cents: }
    end

    attr_reader :lines

    # product_ids may name a product more than once
    def initialize(catalog, product_ids)
      wanted = product_ids.tally
      @lines = catalog.products(wanted.keys).map { |product| Line.new(product, wanted.fetch(product[:id])) }
    end

    def empty? = lines.empty?
    def goods = lines.sum(&:cents)
    def shipping = empty? || goods >= FREE_SHIPPING_FROM ? 0 : SHIPPING
    def total = goods + shipping
    def tax = (total * TAX).round

    def to_h = { lines: lines.map(&:to_h), goods:, shipping:, tax:, total: }
  end
end
