# frozen_string_literal: true

require "rbconfig"
require_relative "../support/pyroscope_server"

# Finding, starting and ending a server, tried on a program that takes the same flags and is the double.
RSpec.describe PyroscopeServer do
  let(:program) { File.join(tmpdir, "pyroscope") }
  let(:server) { described_class.new(program:) }

  def write_program(script)
    File.write(program, "#!/bin/sh\n#{script}")
    File.chmod(0o755, program)
  end

  before do
    double = File.expand_path("../support/pyroscope_double.rb", __dir__)
    write_program(<<~SH)
      for flag; do case $flag in -server.http-listen-port=*) port=${flag#*=};; esac; done
      exec "#{RbConfig.ruby}" "#{double}" --port "$port" --stay
    SH
  end

  after { server.stop }

  it "finds a program by its path, then on PATH, and nothing where there is none" do
    other = { "PATH" => "/nowhere", "PYROSCOPE" => program }
    expect(described_class.find(env: other)).to be_own
    expect(described_class.find(env: { "PATH" => "/nowhere:#{tmpdir}" })).to be_own
    expect(described_class.find(env: { "PATH" => "/nowhere" })).to be_nil
  end

  it "takes a server that runs before all else" do
    env = { "PYROSCOPE_URL" => "http://pyroscope:4040/", "PYROSCOPE" => program }
    expect(described_class.find(env:)).to have_attributes(url: "http://pyroscope:4040", own?: false)
    expect(described_class.find(url: "http://other:4040", env:).url).to eq("http://other:4040")
  end

  it "says when what was asked for is not there" do
    expect { described_class.find(env: { "PYROSCOPE" => "/nowhere/pyroscope" }) }.to raise_error(ArgumentError, %r{/nowhere/pyroscope})
  end

  it "starts it, ends it, and leaves nothing behind" do
    before = Dir.children(Dir.tmpdir)
    pid = server.start.pid
    expect(PyroscopeClient.new(server.url)).to be_ready
    server.stop
    expect { Process.kill(0, pid) }.to raise_error(Errno::ESRCH)
    expect((Dir.children(Dir.tmpdir) - before).grep(/\Apyroscope-/)).to be_empty
  end

  it "shows the log of one that does not start" do
    write_program("echo 'no such flag'; exit 2")
    expect { server.start }.to raise_error(RuntimeError, /ended while starting.*no such flag/m)
  end

  it "does not wait for ever" do
    expect { described_class.new(url: "http://127.0.0.1:9").start(timeout: 0.2) }.to raise_error(RuntimeError, /not ready/)
  end
end
