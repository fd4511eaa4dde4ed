# frozen_string_literal: true

require "erb"

module Shop
  # Each template becomes a method when the shop boots, so that a profile names it, and its lines are the template's.
  class Renderer
    include ERB::Util

    Dir[File.join(ROOT, "views", "*.erb")].each do |path|
      name = File.basename(path, ".erb")
      ERB.new(File.read(path, encoding: Encoding::UTF_8), trim_mode: "-").def_method(self, "render_#{name}(data)", path)
    end

    def render(name, **data) = public_send(:"render_#{name}", data)

    def page(name, title:, **data) = render("layout", title:, content: render(name, **data))

    private

    def price(cents) = format("%d.%02d €", cents / 100, cents % 100)

    def availability(stock)
      case stock
      when 0 then "sold out"
      when 1..3 then "only #{stock} left"
      else "in stock"
      end
    end
  end
end
