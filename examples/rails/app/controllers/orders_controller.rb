# frozen_string_literal: true

class OrdersController < ApplicationController
  def create
    order = Product.find(params[:id]).orders.create!(email: params.fetch(:email, "ada@example.com"))
    InvoiceJob.perform_later(order)
    redirect_to(book_path(order.product), status: :see_other)
  end
end
