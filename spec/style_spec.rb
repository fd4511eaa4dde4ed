# frozen_string_literal: true

# What tools say of the Ruby of this checkout.
RSpec.describe "The Ruby code", :once, :long do
  root = File.expand_path("..", __dir__)

  define_method(:tool) do |name, *arguments|
    out, err, status = run_program([RbConfig.ruby, Gem.bin_path(name, name), *arguments], chdir: root, timeout: 900)
    [status.exitstatus, out + err]
  end

  def yard(*files) = tool("yard", "doc", "--fail-on-warning", "--no-cache", "--no-save", "--no-output", "--no-stats", *files)

  it "has no offence for RuboCop" do
    status, said = tool("rubocop", "--cache", "false", "--format", "emacs")
    expect(status).to eq(0), said
  end

  it "has documentation that YARD builds without a warning" do
    status, said = yard
    expect([status, said]).to eq([0, ""])
  end

  it "would not get a wrong tag past YARD" do
    File.write("#{tmpdir}/wrong.rb", "# @param nobody [String]\ndef wrong(one) = one\n")
    status, said = yard("--no-yardopts", "#{tmpdir}/wrong.rb")
    expect(status).not_to eq(0)
    expect(said).to include("@param tag has unknown parameter name: nobody")
  end
end
