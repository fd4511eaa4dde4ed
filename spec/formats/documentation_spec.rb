# frozen_string_literal: true

require "rperf_push"

# What the pages about profiling on demand show, run.
RSpec.describe "docs of profiling on demand", :once do
  include CommandLine

  root = File.expand_path("../..", __dir__)
  work = "def work = 2_000_000.times { |i| i * i }\n"

  # The right column's code, whole commands and calls; what is cut short stands beside one that is whole.
  tried = File.read("#{root}/docs/switching.md").scan(/^\|.* \| (.*) \|$/).flatten.flat_map { |cell| cell.scan(/`((?:rperf-push |RperfPush)[^`]*)`/) }.flatten
  commands, calls = tried.partition { |code| code.start_with?("rperf-push ") }

  before do
    bin = "#{tmpdir}/bin".tap { |path| Dir.mkdir(path) }
    File.write("#{bin}/rperf-push", "#!/bin/sh\nexec #{RbConfig.ruby} -I #{RubyProgram::LIB} #{CommandLine::EXECUTABLE} \"$@\"\n", perm: 0o755)
    File.write("#{tmpdir}/app.rb", "#{work}work")
    File.write("#{tmpdir}/work.rb", "#{work}work")
  end

  # The commands that only read, in one program.
  def reading(commands)
    tell = "abort(line) unless RperfPush::CLI.run(line.split.drop(1)) == 0"
    code = "require 'rperf_push/cli'\n#{commands.inspect}.each { |line| #{tell} }"
    _, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-e", code], chdir: tmpdir)
    expect([err, status.success?]).to eq(["", true])
  end

  def shell(line)
    env = { "PATH" => "#{tmpdir}/bin:#{ENV.fetch("PATH")}", "TMPDIR" => tmpdir, **CommandLine.silence }
    _, err, status = run_program(["sh", "-c", line], env:, chdir: tmpdir)
    expect(status.success?).to be(true), "#{line}: #{err}"
    expect(err).not_to match(/^rperf-push: (?!the signal is)/), line
  end

  %w[on_demand switching].each do |page|
    File.read("#{root}/docs/#{page}.md").scan(/^```ruby\n(.*?)^```/m).flatten.each_with_index do |code, index|
      it "shows Ruby in #{page} that runs (#{index + 1})" do
        out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-rrperf_push", "-e", "#{work}#{code}"], chdir: tmpdir)
        expect([err.lines.reject { |line| line.start_with?("[RperfPush] ") }, status.success?]).to eq([[], true]), "#{code}#{err}#{out}"
      end
    end
  end

  it "shows commands that work, one after the other" do
    File.read("#{root}/docs/on_demand.md").scan(/^```sh\n(.*?)^```/m).join.each_line(chomp: true) { |line| shell(line) }
  end

  it "has commands for people who switch that all work" do
    expect(commands.size).to be > 30
    data = RperfPush::Collapsed.decode("main;work 5000\nmain 1000\n").merge(mode: %i[cpu wall], values: { wall: [1, 2] })
    Dir.mkdir("#{tmpdir}/DIR")
    %w[rperf-push.json.gz FILE OTHER DIR/1.pb.gz].each { |name| RperfPush.save("#{tmpdir}/#{name}", data) }
    read, recorded = commands.partition { |line| line.match?(/\Arperf-push (report|diff)/) }
    reading(read)
    recorded.each { |line| shell(line) }
  end

  it "has calls for people who switch that all work" do
    expect(calls.size).to be > 25
    lines = calls.map { |call| "puts(#{call.inspect}); $stdout.flush; #{call}" }
    code = "#{work}data = RperfPush.start(lines: true) { work }\nRperfPush.save('p.json', data)\nrequire 'rperf_push/rack'\n#{lines.join("\n")}"
    out, err, status = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-rrperf_push", "-e", code], chdir: tmpdir)
    expect([err, status.success?]).to eq(["", true]), "#{out.lines.last}#{err}"
  end
end
