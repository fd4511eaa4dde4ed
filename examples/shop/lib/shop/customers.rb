# frozen_string_literal: true

require "bcrypt"

module Shop
  # Who may log in.
  class Customers
    def initialize(database)
      @database = database
    end

    # The customer, or nil. Verifying a password is slow on purpose, and lets other threads run meanwhile.
    def authenticate(email, password)
      customer = @database.first("SELECT * FROM customers WHERE email = ?", [email])
      customer if customer && verify(customer[:password_digest], password)
    end

    private

    def verify(digest, password) = BCrypt::Password.new(digest) == password
  end
end
