# frozen_string_literal: true

# Only that the benchmarks run: how long something takes is not for a test to judge.
RSpec.describe "the benchmarks", :once, :alone do
  let(:program) { File.expand_path("../benchmark/overhead.rb", __dir__) }

  def run(*arguments)
    run_program([RbConfig.ruby, program, *arguments], timeout: 600)
  end

  it "measure a program without a profiler and with this one" do
    out, err, status = run("--quick", "--profilers", "none,rperf-push")

    expect(status).to be_success, err
    expect(out).not_to include("Not measured")
    expect(out.scan(/^\| (none|rperf-push) +\|/).flatten.tally).to eq("none" => 5, "rperf-push" => 5)
  end

  it "name what they do not know" do
    _, err, status = run("--rounds", "many")

    expect(status).not_to be_success
    expect(err).to eq("benchmark: invalid argument: --rounds many\n")
  end
end
