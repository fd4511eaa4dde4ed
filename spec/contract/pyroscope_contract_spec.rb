# frozen_string_literal: true

require_relative "../support/fake_pyroscope/remote"
require_relative "../support/pyroscope_server"
require_relative "contract"
require_relative "counting_program"
require_relative "leaking_program"
require_relative "profiled_shop"
require_relative "pyroscope_rules"

RSpec.shared_examples "a Pyroscope that a counting program pushes to" do
  def total_of(id) = PyroscopeClient.new(target.url).total(id, "{run=\"#{@run}\"}", from: @started)

  it_behaves_like "a backend that a counting program pushes to", "pyroscope"
end

RSpec.shared_examples "a Pyroscope that a leaking program pushes to" do
  def total_of(id) = PyroscopeClient.new(target.url).total(id, "{run=\"#{@run}\"}", from: @started)

  it_behaves_like "a backend that a leaking program pushes to", "pyroscope", ""
end

RSpec.describe "The contract with Pyroscope", :once, :waiting do
  extend Contract

  let(:default_limits) { !target.is_a?(PyroscopeServer) || target.own? }

  kept_by_both fake_server: FakePyroscope::Remote, server: PyroscopeServer,
               examples: ["a Pyroscope", "a Pyroscope that a profiled shop pushes to", "a Pyroscope that a counting program pushes to",
                          "a Pyroscope that a leaking program pushes to"]
end
