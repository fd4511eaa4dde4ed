# frozen_string_literal: true

random = Random.new(1)
words = %w[garden river night of the lost summer winter letters to a stranger house light secret history mountain sea]
rows = Array.new(300) { { title: words.sample(4, random:).join(" ").capitalize, price: random.rand(5.0..40.0).round(2) } }
Product.insert_all(rows)
