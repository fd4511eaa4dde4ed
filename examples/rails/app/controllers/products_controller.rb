# frozen_string_literal: true

class ProductsController < ApplicationController
  def index
    @products = Product.order(:title).limit(50)
  end

  def show
    @product = Product.find(params[:id])
    @similar = @product.similar
  end

  # What the profiler knows of this request.
  def labels
    render(json: { labels: RperfPush.labels, running: RperfPush.running?, pid: Process.pid })
  end
end
