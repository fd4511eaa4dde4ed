# frozen_string_literal: true

require_relative "../support/parca_client"
require_relative "../support/parca_double/remote"
require_relative "../support/working_process"

# A window's series stay together, whatever becomes of the request.
RSpec.describe "A window of several series" do
  let(:double) { ParcaDouble::Remote.new }
  let(:client) { ParcaClient.new(double.url) }

  def app(**env)
    working_process("BACKEND" => "parca", "SERVER_ADDRESS" => double.url, "UPLOAD_INTERVAL" => "0.5", **env.transform_keys(&:to_s))
  end

  after { double.stop }

  include_context "with working processes"

  def total(**labels) = client.total(ParcaClient::CPU, ParcaClient.service("worker", **labels))

  def work(app)
    app.run(<<~'RUBY')
      3.times { |number| RperfPush.label(endpoint: "GET /#{number}") { burn(0.25) } }
      nil
    RUBY
  end

  it "is sent again whole, and counted once" do
    double.fault(status: 503)
    program = app
    work(program)
    wait_until("a refusal") { program.stats["uploads_retried"].positive? }
    double.fault
    expect(program.flush).to be(true)
    stats = program.end_profiling
    expect([total, stats["payloads_delivered"]]).to eq([stats["cpu_ns_encoded"], stats["payloads_sealed"]])
    expect((0..2).map { |number| total(endpoint: "GET /#{number}") }).to all(be_positive)
    expect(double.violations).to eq([])
  end

  it "outlives its process in the spool" do
    double.fault(down: "refuse")
    program = app(SPOOL_DIRECTORY: "#{tmpdir}/spool", TAGS: "worker=gone")
    work(program)
    stats = program.end_profiling
    expect(stats["payloads_spooled"]).to eq(stats["payloads_sealed"]).and be_positive
    program.stop
    double.fault
    heir = app(SPOOL_DIRECTORY: "#{tmpdir}/spool", TAGS: "worker=heir")
    wait_until("an empty spool", timeout: 120) { heir.flush(1) && heir.stats["payloads_unspooled"] >= stats["payloads_spooled"] }
    expect((0..2).map { |number| total(worker: "gone", endpoint: "GET /#{number}") }).to all(be_positive)
    expect(total(worker: "gone")).to eq(stats["cpu_ns_encoded"])
    expect(double.violations).to eq([])
  end
end
