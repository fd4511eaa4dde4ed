# frozen_string_literal: true

module Shop
  # Sends mails from a thread of its own, so that nobody waits for them. (This shop's mails go nowhere.)
  class Mailer
    attr_reader :delivered

    def initialize(renderer)
      @renderer = renderer
      @queue = Queue.new
      @delivered = 0
    end

    def confirm(order) = @queue.push(order)

    def deliver_forever
      while (order = @queue.pop)
        deliver(order)
      end
    end

    private

    def deliver(order)
      encode(@renderer.render("mail", order:))
      @delivered += 1
    end

    # As mail goes over the wire.
    def encode(body) = [body].pack("M")
  end
end
