# frozen_string_literal: true

require_relative "../support/parca_client"
require_relative "../support/fake_parca/remote"
require_relative "../support/working_process"

# A window's series stay together, whatever becomes of the request.
RSpec.describe "A window of several series", :once, :waiting do
  let(:fake_server) { FakeParca::Remote.new }
  let(:client) { ParcaClient.new(fake_server.url) }

  def app(**env)
    working_process("BACKEND" => "parca", "SERVER_ADDRESS" => fake_server.url, "UPLOAD_INTERVAL" => "0.5", **env.transform_keys(&:to_s))
  end

  after { fake_server.stop }

  include_context "with working processes"

  def total(**labels) = client.total(ParcaClient::CPU, ParcaClient.service("worker", **labels))

  def work(app)
    app.run(<<~'RUBY')
      3.times { |number| RperfPush.label(endpoint: "GET /#{number}") { burn(0.25) } }
      nil
    RUBY
  end

  it "is sent again whole, and counted once" do
    fake_server.fault(status: 503)
    program = app
    work(program)
    wait_until("a refusal") { program.stats["uploads_retried"].positive? }
    fake_server.fault
    expect(program.flush).to be(true)
    stats = program.end_profiling
    expect([total, stats["payloads_delivered"]]).to eq([stats["cpu_ns_encoded"], stats["payloads_created"]])
    expect((0..2).map { |number| total(endpoint: "GET /#{number}") }).to all(be_positive)
    expect(fake_server.violations).to eq([])
  end

  it "outlives its process in the spool" do
    fake_server.fault(down: "refuse")
    program = app(SPOOL_DIRECTORY: "#{tmpdir}/spool", TAGS: "worker=gone")
    work(program)
    stats = program.end_profiling
    expect(stats["payloads_spooled"]).to eq(stats["payloads_created"]).and be_positive
    program.stop
    fake_server.fault
    heir = app(SPOOL_DIRECTORY: "#{tmpdir}/spool", TAGS: "worker=heir")
    wait_until("an empty spool", timeout: 120) { heir.flush(1) && heir.stats["payloads_unspooled"] >= stats["payloads_spooled"] }
    expect((0..2).map { |number| total(worker: "gone", endpoint: "GET /#{number}") }).to all(be_positive)
    expect(total(worker: "gone")).to eq(stats["cpu_ns_encoded"])
    expect(fake_server.violations).to eq([])
  end
end
