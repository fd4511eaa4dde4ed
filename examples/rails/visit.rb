# frozen_string_literal: true

require "net/http"

# What the bookshop's customers do, and how often.
class BookshopVisit
  MIX = { index: 20, show: 70, order: 10 }.freeze
  DECK = MIX.flat_map { |name, weight| [name] * weight }.freeze

  def self.any(random) = new(random).public_send(DECK.sample(random:))

  def initialize(random)
    @random = random
  end

  def index = Net::HTTP::Get.new("/")
  def show = Net::HTTP::Get.new("/books/#{book}/by-title")
  def order = Net::HTTP::Post.new("/books/#{book}/orders").tap { |request| request.body = "email=customer#{@random.rand(6)}%40example.com" }

  private

  def book = @random.rand(1..300)
end
