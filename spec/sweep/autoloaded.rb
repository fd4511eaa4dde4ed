# frozen_string_literal: true

class Operations
  # Loaded again and again.
  module Autoloaded
    NUMBERS = [1, 2, 3].map { |x| x * 2 }
    def self.answer = NUMBERS.sum { |x| x }
  end
end
