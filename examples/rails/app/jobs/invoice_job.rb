# frozen_string_literal: true

require "digest"

class InvoiceJob < ApplicationJob
  queue_as :invoices

  def perform(order)
    order.update!(invoice: sign("#{order.id} #{order.product.title} #{order.email}"))
  end

  private

  # As slow as signing a document would be.
  def sign(text)
    20_000.times { text = Digest::SHA256.hexdigest(text) }
    text
  end
end
