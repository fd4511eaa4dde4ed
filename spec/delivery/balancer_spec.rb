# frozen_string_literal: true

require_relative "../support/haproxy"
require_relative "../support/fake_pyroscope/remote"
require_relative "../support/working_process"

# A balancer takes connections also while there is nobody behind it, reads what comes, and closes: what was sent is unknown.
RSpec.describe "Behind HAProxy", :once, :waiting do
  let(:fake_server) { FakePyroscope::Remote.new }
  let(:balancer) { Haproxy.new(to: Integer(fake_server.url[/\d+\z/]), mode:) }
  let(:app) { WorkingProcess.new({ "SERVER_ADDRESS" => balancer.url, "UPLOAD_INTERVAL" => "1800" }.transform_keys { |name| "RPERF_PUSH_#{name}" }) }

  after do
    app.kill
    balancer.stop
    fake_server.stop
  end

  %i[tcp http].each do |mode|
    context "in mode #{mode}" do
      let(:mode) { mode }

      it "an outage leaves no window unconfirmed" do
        expect(app.flush).to be(true), app.log
        fake_server.fault(down: "refuse")
        6.times { app.flush(0.2) }
        wait_until("some tries") { app.stats["uploads_retried"] >= 2 }
        fake_server.fault
        expect(app.flush(40)).to be(true), app.log
        expect(app.stats).to include("payloads_unconfirmed" => 0, "payloads_dropped_shutdown" => 0)
        expect(app.stats.values_at("payloads_created", "payloads_delivered")).to all be >= 3
        expect(fake_server.accepted.map(&:time_nanos).uniq.size).to eq(app.stats["payloads_delivered"])
      end

      it "a process that begins in an outage leaves no window unconfirmed either" do
        fake_server.fault(down: "refuse")
        app.flush(0.2)
        wait_until("a try") { app.stats.values_at("uploads_retried", "uploads_failed").sum.positive? }
        fake_server.fault
        expect(app.flush(40)).to be(true), app.log
        expect(app.stats).to include("payloads_unconfirmed" => 0)
      end
    end
  end
end
