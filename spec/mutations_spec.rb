# frozen_string_literal: true

require_relative "mutations/mutations"

# That the list fits the code. `rake mutations` tries it.
RSpec.describe "The list of mutations", :once, :short, :quick do
  root = Mutations::ROOT

  it "has at least 25" do
    expect(Mutations.list.size).to be >= 25
  end

  Mutations.list.each do |mutation|
    it "breaks a line that is there, and names a test: #{mutation.promise}" do
      expect { mutation.source(root) }.not_to raise_error
      expect(mutation.replacement).not_to eq(mutation.text)
      if mutation.core?
        program = Dir["#{root}/spec/core/**/#{mutation.program}.c"].first
        expect(File.read(program)).to match(/^TEST(_BY_NUMBERS)?\(#{mutation.test[/\w+\z/]}\)/)
      else
        expect(File.read("#{root}/#{mutation.spec}")).to include(mutation.example.to_s)
      end
    end
  end
end
