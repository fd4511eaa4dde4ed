# frozen_string_literal: true

require "json"
require "rack"

module Shop
  # The Rack application: wires the shop's parts together and answers requests.
  class Application
    ROUTES = [
      ["GET", %r{\A/\z}, :home],
      ["GET", %r{\A/products\z}, :products],
      ["GET", %r{\A/products/(?<id>\d+)\z}, :product],
      ["GET", %r{\A/search\z}, :search],
      ["GET", %r{\A/cart\z}, :cart],
      ["POST", %r{\A/checkout\z}, :checkout],
      ["POST", %r{\A/login\z}, :login],
      ["GET", %r{\A/report\.csv\.gz\z}, :report]
    ].freeze

    attr_reader :backstage

    def initialize
      @database = Database.new
      @database.prepare { |connection| Seeds.new.plant(connection) }
      @upstream = Upstream.new
      @renderer = Renderer.new
      @cache = Cache.new
      @orders = Orders.new(@database)
      @customers = Customers.new(@database)
      wire
    end

    def call(env)
      request = Rack::Request.new(env)
      ROUTES.each do |verb, pattern, action|
        match = pattern.match(request.path_info)
        return send(action, request, match) if match && request.request_method == verb
      end
      html("missing", status: 404, title: "Not here")
    rescue Upstream::Failed, SystemCallError, Timeout::Error => e
      json({ error: e.message }, status: 502)
    end

    private

    def wire
      @stock = Stock.new(@upstream)
      @catalog = Catalog.new(@database, @stock)
      @bestsellers = Bestsellers.new(@database)
      @mailer = Mailer.new(@renderer)
      @checkout = Checkout.new(@upstream, @orders, @mailer)
      @report = SalesReport.new(@orders)
      @backstage = Backstage.new(@stock, @bestsellers, @mailer)
    end

    def home(_request, _match)
      products = @cache.fetch(["home", @bestsellers.ids]) { @catalog.products(@bestsellers.ids) }
      html("home", title: "Welcome", products:)
    end

    def products(request, _match)
      number = request.params.fetch("page", 1).to_i.clamp(1, 25)
      html("products", title: "Products", number:, products: @cache.fetch(["page", number]) { @catalog.page(number) })
    end

    def product(_request, match)
      id = match[:id].to_i
      product = @cache.fetch(["product", id]) { @catalog.product(id) }
      return html("missing", status: 404, title: "Not here") unless product

      html("product", title: product[:name], product:, related: @cache.fetch(["related", id]) { @catalog.related(id) })
    end

    def search(request, _match)
      text = request.params.fetch("q", "").to_s
      html("search", title: "Search", text:, products: @catalog.search(text))
    end

    def cart(request, _match)
      json(cart_of(request.params.fetch("items", "").to_s.split(",").map(&:to_i)).to_h)
    end

    def checkout(request, _match)
      document = JSON.parse(request.body.read)
      return json({ error: "not an order" }, status: 400) unless document.is_a?(Hash)

      cart = cart_of(Array(document["items"]).grep(Integer))
      return json({ error: "the cart is empty" }, status: 422) if cart.empty?

      json(@checkout.call(document["email"].to_s, cart), status: 201)
    rescue JSON::ParserError
      json({ error: "not an order" }, status: 400)
    end

    def login(request, _match)
      customer = @customers.authenticate(request.params["email"].to_s, request.params["password"].to_s)
      customer ? json({ customer: customer[:id] }) : json({ error: "wrong e-mail or password" }, status: 401)
    end

    def report(_request, _match)
      answer(200, "application/gzip", @report.to_gzip)
    end

    def cart_of(ids) = Cart.new(@catalog, ids.first(50))

    def html(name, title:, status: 200, **data) = answer(status, "text/html; charset=utf-8", @renderer.page(name, title:, **data))
    def json(document, status: 200) = answer(status, "application/json", JSON.generate(document))

    def answer(status, type, body)
      [status, { "content-type" => type, "content-length" => body.bytesize.to_s }, [body]]
    end
  end
end
