# frozen_string_literal: true

require_relative "../support/stress_program"

RSpec.describe "Forks while uploads are slow" do
  include_examples "a program whose forks all end well", 60
end
