# frozen_string_literal: true

require "rperf_push/cli"
require "rperf_push/cli/commands/run"
require_relative "../support/pprof_profile"
require_relative "../support/fake_pyroscope"

RSpec.describe "rperf-push run", :once, :waiting do
  include CommandLine

  busy = <<~RUBY
    def busy(seconds)
      deadline = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < deadline
    end
    busy 0.3
  RUBY

  # Without the line that says where profiles go.
  def run_command(*command, env: {}, flags: ["--directory", "#{tmpdir}/profiles"])
    rperf_push("run", *flags, *command, env:).tap { |ended| ended.err = ended.err.sub(CommandLine::START_OF_RUN, "") }
  end

  def program(name, code)
    path = "#{tmpdir}/#{name}.rb"
    File.write(path, code)
    path
  end

  # The name of each process, however many windows it had.
  def profiled
    Dir["#{tmpdir}/profiles/*.pb.gz"].map { |path| File.basename(path).match(/\A(\w+)-.*-(\d+)-\d+\.pb/).captures }.uniq.map(&:first).sort
  end

  it "says in a line where profiles go, and nothing where none do" do
    said = ->(*arguments, **env) { rperf_push("run", *arguments, env: env.transform_keys(&:to_s)).err }
    expect(said.call("--directory", "#{tmpdir}/p", "ruby", "-e", "1"))
      .to eq("rperf-push: run: profiles of ruby go to directory at #{tmpdir}/p: 99 Hz, every 10 s\n")
    expect(said.call("true", RPERF_PUSH_SERVER_ADDRESS: "http://me:secret@shop:4040", RPERF_PUSH_FREQUENCY: "50"))
      .to match(%r{\Arperf-push: run: profiles of true go to pyroscope at http://(?!.*secret).*shop:4040: 50 Hz, every 10 s\n\z})
    expect(said.call("true", RPERF_PUSH_ENABLED: "false")).to eq("")
  end

  it "profiles a program that knows nothing of it, and says nothing more" do
    ended = run_command("ruby", program("plain", "#{busy}puts ARGV.inspect"), "--server", "x y")
    expect(ended.to_a).to eq(["[\"--server\", \"x y\"]\n", "", 0])
    expect(profiled).to eq(["plain"])
    expect(Dir["#{tmpdir}/profiles/*"].flat_map { |path| PprofProfile.read(path).function_names }).to include("Object#busy")
  end

  it "asks git for the commit before the command starts, and tells its processes" do
    git = ->(*arguments) { IO.popen(["git", "-C", tmpdir, *arguments], err: File::NULL, &:read).chomp }
    git.call("init")
    git.call("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    git.call("remote", "add", "origin", "git@github.com:shop/app.git")
    folder = FileUtils.mkdir_p("#{tmpdir}/apps/shop").first
    show = 'puts ENV.values_at("RPERF_PUSH_SERVICE_GIT_REF", "RPERF_PUSH_SERVICE_REPOSITORY", "RPERF_PUSH_SERVICE_ROOT_PATH")'
    out, = run_program([RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "run", "--directory", "p", "ruby", "-e", show],
                       env: CommandLine.silence, chdir: folder)
    expect(out.lines(chomp: true)).to eq([git.call("rev-parse", "HEAD"), "https://github.com/shop/app", "apps/shop"])
  end

  it "writes into a directory whatever backend the environment has, and says what does not go together" do
    expect(run_command("ruby", program("plain", busy), env: { "RPERF_PUSH_BACKEND" => "parca" }).to_a).to eq(["", "", 0])
    expect(profiled).to eq(["plain"])
    ended = run_command("ruby", program("other", busy), flags: ["--directory", "#{tmpdir}/other", "--backend", "parca"])
    expect(ended.to_a).to eq(
      ["", "[rperf-push] not started: directory must come with backend directory, or without a backend, got backend parca\n", 0]
    )
    expect(Dir.exist?("#{tmpdir}/other")).to be(false)
  end

  it "profiles its children: forked, and started in whichever way" do
    child = program("child", busy)
    parent = program("parent", <<~RUBY)
      #{busy}
      Process.wait(fork { busy 0.3 })
      system("ruby", #{child.inspect}) or abort
      `ruby #{child}`
    RUBY
    expect(run_command("ruby", parent).to_a).to eq(["", "", 0])
    expect(profiled).to eq(%w[child child parent parent])
  end

  it "pushes to a server, under the name that is given" do
    fake_server = FakePyroscope.new
    ended = run_command("ruby", program("plain", busy), flags: ["--server", fake_server.url, "--application", "shop"])
    expect(ended.to_a).to eq(["", "", 0])
    expect(fake_server.accepted.flat_map(&:labels)).to include(%w[service_name shop])
    expect(fake_server.violations).to eq([])
  ensure
    fake_server&.stop
  end

  it "hands on what the command says and how it ends" do
    expect(run_command("sh", "-c", "echo out; echo err >&2; exit 7").to_a).to eq(["out\n", "err\n", 7])
  end

  it "keeps RUBYOPT and RUBYLIB" do
    File.write("#{tmpdir}/before.rb", "$before = true")
    ended = run_command("ruby", "-e", "p [$before, $VERBOSE, RperfPush.running?]",
                        env: { "RUBYOPT" => "-W0 -rbefore", "RUBYLIB" => tmpdir })
    expect(ended.to_a).to eq(["[true, nil, true]\n", "", 0])
  end

  it "does not profile twice when run within itself" do
    ended = run_command("ruby", CommandLine::EXECUTABLE, "run", "ruby", "-e", "print ENV['RUBYOPT'].scan('autostart').size")
    expect(ended.out).to eq("1")
  end

  it "lets a program that configures profiling by itself do so" do
    code = "RperfPush.configure! { |config| config.application_name = 'mine' }\n#{busy}"
    expect(run_command("ruby", program("own", "require 'rperf_push'\n#{code}")).to_a).to eq(["", "", 0])
    expect(profiled).to include("mine")
  end

  it "names a command that is not there" do
    expect(run_command("no-such-command", "x").to_a).to eq(["", "rperf-push: run: no-such-command: No such file or directory\n", 1])
    File.write(path = "#{tmpdir}/data", "")
    expect(run_command(path).to_a).to eq(["", "rperf-push: run: #{path}: Permission denied\n", 1])
    expect(run_command.to_a).to eq(["", "rperf-push: run needs a command\n", 1])
  end

  it "runs no shell for a command with blanks" do
    expect(run_command("echo $HOME; true").status).to eq(1)
  end

  # With a Ruby of the system, whatever its version: the one of the specs may be below a folder that is closed as well.
  it "lets a program start that changes its user where the gem is closed to others, like record and trace" do
    skip "only root can change the user" unless Process.uid.zero? && File.executable?("/usr/bin/ruby")
    closed = "#{tmpdir}/closed"
    Dir.mkdir(closed, 0o700)
    FileUtils.cp_r([RubyProgram::LIB, File.expand_path("../../exe", __dir__)], closed)
    program = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/ruby", "-e", "puts Process.uid"]
    ended = [["run", "--directory", "#{tmpdir}/profiles"], ["record", "-o", "#{tmpdir}/p.json"], %w[trace]].map do |command|
      run_program([RbConfig.ruby, "-I", "#{closed}/lib", "#{closed}/exe/rperf-push", *command, *program], env: CommandLine.silence)
    end
    expect(ended.map { |out, _, status| [out, status.exitstatus] }).to eq([["65534\n", 0]] * 3)
    refused = /\[rperf-push\] -e \(ruby [\d.]+\) is not \w+: cannot load such file -- rperf_push\S*\n/
    nothing = "rperf-push: setpriv: no Ruby program ran, nothing was"
    expect(ended.map { |_, err,| err.sub(CommandLine::START_OF_RUN, "") }).to match([/\A#{refused}\z/, "#{nothing} recorded\n", /\A#{refused}#{nothing} traced\n\z/])
  end

  describe "rperf_push/autostart" do
    it "lets a program run whose Ruby can not load the profiler" do
      Dir.mkdir("#{tmpdir}/broken")
      ["module RperfPush; end; raise LoadError, 'no such library'", "def (", "raise 'no'"].each do |code|
        File.write("#{tmpdir}/broken/rperf_push.rb", code)
        command = [RbConfig.ruby, "-I", "#{tmpdir}/broken", "-I", RubyProgram::LIB, "-r", "rperf_push/autostart", "-e", "puts :ran, defined?(RperfPush).inspect"]
        out, err, status = run_program(command, env: CommandLine.silence)
        expect([out, status.exitstatus]).to eq(["ran\nnil\n", 0])
        expect(err).to match(/\A\[rperf-push\] -e \(ruby #{RUBY_VERSION}\) is not profiled: .+\n\z/)
      end
    end

    it "is not seen, as are the files of sessions that are over, where it can do nothing" do
      %w[inherited session call_session].each do |feature|
        command = [RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push/#{feature}", "-e", "p defined?(RperfPush)"]
        out, err, status = run_program(command, env: CommandLine.silence)
        expect([out, err, status.exitstatus]).to eq(["nil\n", "", 0]), feature
      end
    end

    it "does nothing when profiling is switched off" do
      ended = run_command("ruby", "-e", "p RperfPush.running?", env: { "RPERF_PUSH_ENABLED" => "false" })
      expect(ended.to_a).to eq(["false\n", "", 0])
    end
  end
end
