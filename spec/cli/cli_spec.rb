# frozen_string_literal: true

require "rbconfig"
require "rperf_push/cli"
require "rperf_push/cli/options"

RSpec.describe RperfPush::CLI, :once, :waiting do
  include CommandLine

  it "tells its version" do
    expect(rperf_push("--version").to_a).to eq(["rperf-push #{RperfPush::VERSION}\n", "", 0])
  end

  it "lists in help what there is, and nothing else" do
    ended = rperf_push("help")
    listed = ended.out[/^COMMANDS\n\n(.*?)\n\n/m, 1].scan(/^  (\w+) {2,}/).flatten
    there = Dir[File.expand_path("../../lib/rperf_push/cli/commands/*.rb", __dir__)].map { |path| File.basename(path, ".rb") }
    expect([ended.status, ended.err]).to eq([0, ""])
    expect(listed).to eq(described_class::COMMANDS.keys)
    expect(listed - there).to eq(["help"])
    expect(there - listed).to eq([])
  end

  (described_class::COMMANDS.keys - ["help"]).each do |command|
    it "explains the options of #{command}" do
      ended = rperf_push("help", command)
      expect([ended.status, ended.err]).to eq([0, ""])
      expect(ended.out).to start_with("usage: rperf-push #{command}").and match(/--server URL|--output PATH|--port PORT|--json|--interval/)
      expect(rperf_push(command, "--help").to_a).to eq(ended.to_a)
    end

    it "names a wrong option of #{command}" do
      expect(rperf_push(command, "--nope").to_a).to eq(["", "rperf-push: #{command}: invalid option: --nope\n", 1])
    end
  end

  it "shows help when asked for nothing" do
    expect(rperf_push.out).to eq(rperf_push("help").out)
  end

  ["reckord", "CLI", "../cli", "help me"].each do |name|
    it "refuses the command #{name.inspect} in one line" do
      expect(rperf_push(name).to_a).to eq(["", "rperf-push: unknown command #{name.inspect}; rperf-push help lists them\n", 1])
    end
  end

  it "has in help, man page and completion every option that the parser takes, and no other" do
    table = RperfPush::CLI::Options::TABLE
    help, man = %w[help man].map { |page| page == "help" ? rperf_push("help").out : rperf_push("help", "man").out.gsub("\\-", "-") }
    bash = rperf_push("help", "completion", "bash").out
    table.each do |command, options|
      expect(bash[/^ +#{command}\) words="(.*?)"/, 1].split.grep(/\A--/)).to eq(options.map { |option| "--#{option.long}" })
      options.each do |option|
        expect(help).to include(option.flags.join(", "))
        expect(man).to include(".B #{option.flags.join(", ")}\n")
      end
    end
    expect(help).to include("%GVL=blocked", "MODES", "FORMATS", "EXIT STATUS", "WHAT TO DO")
  end

  it "writes a man page that man takes, and completions that the shells take" do
    skip "no man here" unless system("command -v groff >/dev/null")
    _, err, status = run_program(["sh", "-c", "#{RbConfig.ruby} -I #{RubyProgram::LIB} #{CommandLine::EXECUTABLE} help man | groff -man -Tutf8 -ww >/dev/null"])
    expect([err, status.success?]).to eq(["", true])
  end

  it "completes commands and options in bash" do
    File.write(script = "#{tmpdir}/completion", rperf_push("help", "completion", "bash").out)
    complete = lambda do |*words|
      run_program(["bash", "-c", "source #{script}; COMP_WORDS=(#{words.join(" ")}) COMP_CWORD=#{words.size - 1}; _rperf_push; echo ${COMPREPLY[*]}"]).first.split
    end
    expect(complete.call("rperf-push", "re")).to eq(%w[record report])
    expect(complete.call("rperf-push", "report", "--me")).to eq(%w[--method])
    expect(complete.call("rperf-push", "record", "--no")).to eq(%w[--no-lines --no-inherit --no-aggregate])
    expect(rperf_push("help", "completion", "fish").to_a).to eq(["", "rperf-push: help completion: bash or zsh, got \"fish\"\n", 1])
  end

  # In a terminal of zsh's own: it reads until what it waits for is there.
  it "completes in zsh, at the first Tab" do
    skip "no zsh here" unless system("command -v zsh >/dev/null")
    Dir.mkdir(functions = "#{tmpdir}/functions")
    File.write("#{functions}/_rperf-push", rperf_push("help", "completion", "zsh").out)
    File.write(script = "#{tmpdir}/drive.zsh", <<~ZSH)
      zmodload zsh/zpty
      complete() {
        zpty z "TERM=dumb zsh -f -i"
        zpty -w z "fpath=(#{functions} \\$fpath); autoload -Uz compinit; compinit -u -D; cd #{tmpdir}; print BEG''IN"
        zpty -r -m z out "*BEGIN*"
        zpty -w -n z "$1"$'\t'
        zpty -r -m z out "*$2*"
        zpty -d z
      }
      complete "rperf-push rec" "rperf-push record"
      complete "rperf-push record --snap" "--snapshot-dir"
      print -r done
    ZSH
    out, = run_program(["zsh", "-f", script])
    expect(out).to eq("done\n")
  end

  it "says when standard output takes no more, and is quiet when nobody reads" do
    skip "no /dev/full here" unless File.exist?("/dev/full")
    reader, closed = IO.pipe
    reader.close
    command = [CommandLine.silence, RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE]
    [["/dev/full", "rperf-push: standard output: No space left on device\n"], [closed, ""]].product([%w[help], %w[help report]]).each do |(output, said), arguments|
      pid = Process.spawn(*command, *arguments, out: output, err: "#{tmpdir}/err")
      expect([Process.wait2(pid).last.exitstatus, File.read("#{tmpdir}/err")]).to eq([1, said])
    end
  end

  it "speaks up when warnings are off" do
    expect(rperf_push("nope", env: { "RUBYOPT" => "-W0" }).err).to include("unknown command")
  end
end
