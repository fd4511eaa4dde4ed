# frozen_string_literal: true

require "rbconfig"
require_relative "../support/parca_server"
require_relative "../support/pyroscope_server"

# Finding, starting and ending a server, tried on programs that take the same flags and are the fake servers.
RSpec.shared_examples "a server that is found, started and ended" do |name, client, flag, fake_server|
  let(:program) { File.join(tmpdir, name) }
  let(:variable) { name.upcase }
  let(:server) { described_class.new(program:) }

  def write_program(script)
    File.write(program, "#!/bin/sh\n#{script}")
    File.chmod(0o755, program)
  end

  before do
    path = File.expand_path("../support/#{fake_server}", __dir__)
    write_program(<<~SH)
      for flag; do case $flag in #{flag}*) port=${flag##*[=:]};; esac; done
      exec "#{RbConfig.ruby}" "#{path}" --port "$port" --stay
    SH
  end

  after { server.stop }

  it "finds a program by its path, then on PATH, and nothing where there is none" do
    other = { "PATH" => "/nowhere", variable => program }
    expect(described_class.find(env: other)).to be_own
    expect(described_class.find(env: { "PATH" => "/nowhere:#{tmpdir}" })).to be_own
    expect(described_class.find(env: { "PATH" => "/nowhere" })).to be_nil
  end

  it "takes a server that runs before all else" do
    env = { "#{variable}_URL" => "http://server:4040/", variable => program }
    expect(described_class.find(env:)).to have_attributes(url: "http://server:4040", own?: false)
    expect(described_class.find(url: "http://other:4040", env:).url).to eq("http://other:4040")
  end

  it "says when what was asked for is not there" do
    expect { described_class.find(env: { variable => "/nowhere/#{name}" }) }.to raise_error(ArgumentError, %r{/nowhere/#{name}})
  end

  it "starts it, ends it, and leaves nothing behind" do
    before = Dir.children(Dir.tmpdir)
    pid = server.start.pid
    expect(client.new(server.url)).to be_ready
    server.stop
    expect { Process.kill(0, pid) }.to raise_error(Errno::ESRCH)
    expect((Dir.children(Dir.tmpdir) - before).grep(/\A#{name}-/)).to be_empty
  end

  it "shows the log of one that does not start" do
    write_program("echo 'no such flag'; exit 2")
    expect { server.start }.to raise_error(RuntimeError, /ended while starting.*no such flag/m)
  end

  it "does not wait for ever" do
    expect { described_class.new(url: "http://127.0.0.1:9").start(timeout: 0.2) }.to raise_error(RuntimeError, /not ready/)
  end
end

RSpec.describe PyroscopeServer, :once, :waiting do
  it_behaves_like "a server that is found, started and ended",
                  "pyroscope", PyroscopeClient, "-server.http-listen-port=", "fake_pyroscope.rb"
end

RSpec.describe ParcaServer do
  it_behaves_like "a server that is found, started and ended", "parca", ParcaClient, "--http-address=", "fake_parca.rb"
end
