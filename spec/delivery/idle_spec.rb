# frozen_string_literal: true

require "json"
require_relative "../support/fake_backend"
require_relative "../support/helpers/ruby_program"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope"

# A burst, and then nothing: no safepoint comes at which a window could end.
RSpec.describe "A process that does nothing", :once, :waiting do
  program = <<~RUBY
    RperfPush.configure! do |config|
      config.application_name = "idle"
      config.server_address = ENV.fetch("SERVER")
      config.upload_interval = 3
    end
    def burst = (finish = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.3; Math.sqrt(rand) until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > finish)
    Array.new(3) { Thread.new { burst; sleep } }
    $stdout.sync = true
    burst
    RperfPush.flush(timeout: 20) # a new window begins, and the names are known
    burst
    puts "done"
    $stdin.gets
    RperfPush.shutdown
    puts JSON.generate(RperfPush.stats)
  RUBY

  before do
    @fake_server = FakePyroscope.new
    @pipe = IO.popen([{ "SERVER" => @fake_server.url }, RbConfig.ruby, "-I", RubyProgram::LIB, "-rjson", "-rrperf_push", "-e", program], "r+")
  end

  after do
    @pipe.close
    @fake_server.stop
  end

  def switches
    Dir["/proc/#{@pipe.pid}/task/*"].filter_map do |task|
      next if File.read("#{task}/comm").start_with?("rpp-")

      File.read("#{task}/status").scan(/ctxt_switches:\s+(\d+)/).flatten.sum(&:to_i)
    end.sum
  end

  let(:client) { PyroscopeClient.new(@fake_server.url) }

  def cpu = client.total(PyroscopeClient::CPU, "{}")

  it "delivers its last burst when the window is over, and is not woken for it" do
    expect(@pipe.gets).to eq("done\n")
    before = nil
    wait_until("its rest", interval: 0) do
      before = switches
      sleep 0.5
      switches == before
    end
    wait_until("the last of five bursts of 0.3 s") { cpu >= 1_350_000_000 }
    expect(switches).to eq(before)

    @pipe.puts
    stats = JSON.parse(@pipe.gets)
    expect(cpu).to eq(stats["cpu_ns_encoded"])
    expect(client.total(PyroscopeClient::WALL, "{}")).to eq(stats["wall_ns_encoded"])
    expect(stats["payloads_delivered"]).to eq(stats["windows_closed"] - stats["windows_empty"])
  end
end
