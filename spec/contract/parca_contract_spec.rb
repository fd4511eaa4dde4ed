# frozen_string_literal: true

require_relative "../support/fake_parca/remote"
require_relative "../support/parca_server"
require_relative "contract"
require_relative "counting_program"
require_relative "leaking_program"
require_relative "parca_rules"
require_relative "profiled_program"

RSpec.shared_examples "a Parca that a counting program writes to" do
  def total_of(id) = ParcaClient.new(target.url).total("#{id}:delta", ParcaClient.service("worker", run: @run))

  it_behaves_like "a backend that a counting program pushes to", "parca"
end

RSpec.shared_examples "a Parca that a leaking program writes to" do
  def total_of(id) = ParcaClient.new(target.url).total(id, ParcaClient.service("worker", run: @run))

  it_behaves_like "a backend that a leaking program pushes to", "parca", ":delta"
end

RSpec.describe "The contract with Parca", :once, :waiting do
  extend Contract

  kept_by_both fake_server: FakeParca::Remote, server: ParcaServer,
               examples: ["a Parca", "a Parca that a profiled program writes to", "a Parca that a counting program writes to",
                          "a Parca that a leaking program writes to"]
end
