# frozen_string_literal: true

require_relative "../support/pyroscope_double/remote"
require_relative "../support/pyroscope_server"
require_relative "profiled_shop"
require_relative "pyroscope_rules"

# One contract, two parties: the double always, the real server wherever there is one.
RSpec.describe "The contract with Pyroscope" do
  def target = self.class.target

  let(:url) { target.url }
  let(:default_limits) { !target.is_a?(PyroscopeServer) || target.own? }

  def self.kept_by(name)
    context name do
      cache = nil
      define_singleton_method(:target) { cache ||= yield }
      after(:all) { cache&.stop }

      it_behaves_like "a Pyroscope"
      it_behaves_like "a Pyroscope that a profiled shop pushes to"
    end
  end

  kept_by("the double") { PyroscopeDouble::Remote.new }

  if (real = PyroscopeServer.find)
    kept_by("the real server") { real.start }
  else
    it "is kept by the real server" do
      warn "\nThe contract was not tried on a real Pyroscope: #{PyroscopeServer::HINT}"
      skip PyroscopeServer::HINT
    end
  end
end
