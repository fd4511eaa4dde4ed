# frozen_string_literal: true

Rails.application.routes.draw do
  root "products#index"
  get "books/:id(/:title)", to: "products#show", as: :book
  post "books/:id/orders", to: "orders#create"
  get "labels", to: "products#labels"
end
