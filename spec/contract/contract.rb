# frozen_string_literal: true

# One contract, two parties: the fake server always, the real server wherever there is one.
#
#   extend Contract
#   kept_by_both fake_server: FakeServer::Remote, server: Server, examples: ["a Server", "a Server that is used"]
module Contract
  # Each example group in it has `target`, the party, and `url`.
  def kept_by_both(fake_server:, server:, examples:)
    kept_by("the fake server", examples) { fake_server.new }
    if (real = server.find)
      kept_by("the real server", examples) { real.start }
    else
      it "is kept by the real server" do
        warn "\nThe contract was not tried on a real #{server::NAME}: #{server::HINT}"
        skip server::HINT
      end
    end
  end

  private

  def kept_by(name, examples)
    context name do
      cache = nil
      define_singleton_method(:target) { cache ||= yield }
      define_method(:target) { self.class.target }
      let(:url) { target.url }
      after(:all) { cache&.stop }

      examples.each { |shared| it_behaves_like shared }
    end
  end
end
