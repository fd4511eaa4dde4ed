# frozen_string_literal: true

require_relative "../support/parca_double/remote"
require_relative "../support/parca_server"
require_relative "parca_rules"
require_relative "profiled_program"

# One contract, two parties: the double always, the real server wherever there is one.
RSpec.describe "The contract with Parca" do
  def target = self.class.target

  let(:url) { target.url }

  def self.kept_by(name)
    context name do
      cache = nil
      define_singleton_method(:target) { cache ||= yield }
      after(:all) { cache&.stop }

      it_behaves_like "a Parca"
      it_behaves_like "a Parca that a profiled program writes to"
    end
  end

  kept_by("the double") { ParcaDouble::Remote.new }

  if (real = ParcaServer.find)
    kept_by("the real server") { real.start }
  else
    it "is kept by the real server" do
      warn "\nThe contract was not tried on a real Parca: #{ParcaServer::HINT}"
      skip ParcaServer::HINT
    end
  end
end
