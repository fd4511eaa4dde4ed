# frozen_string_literal: true

require "zlib"

module Shop
  # The last orders for the accountants' spreadsheet, compressed.
  class SalesReport
    ROWS = 2_000
    COLUMNS = %i[id placed_on email name quantity cents].freeze

    def initialize(orders)
      @orders = orders
    end

    def to_gzip = compress(to_csv)

    private

    def to_csv
      @orders.lines(ROWS).each_with_object(+"#{COLUMNS.join(",")}\n") do |row, csv|
        csv << row.values_at(*COLUMNS).map { |field| quote(field.to_s) }.join(",") << "\n"
      end
    end

    def quote(field) = field.match?(/[",\n]/) ? %("#{field.gsub('"', '""')}") : field

    def compress(csv) = Zlib.gzip(csv, level: Zlib::BEST_COMPRESSION)
  end
end
