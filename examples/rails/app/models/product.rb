# frozen_string_literal: true

class Product < ActiveRecord::Base
  has_many :orders

  # Books whose titles share words with this one, the nearest first.
  def similar(limit: 5)
    words = title.downcase.scan(/\w+/)
    Product.where.not(id:).sort_by { |other| [-(other.title.downcase.scan(/\w+/) & words).size, other.id] }.first(limit)
  end
end
