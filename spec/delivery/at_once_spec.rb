# frozen_string_literal: true

require "socket"
require "rperf_push"

# Pyroscope 2 answers when it has flushed, and one flush answers all that came before it. This server goes to the end of it: it answers
# nobody until all requests of a window are there.
RSpec.describe "Requests beside each other", :once, :waiting do
  before { @lock = Mutex.new }

  def answering_all_at_once(count)
    server = TCPServer.new("127.0.0.1", 0)
    waiting = []
    threads = []
    accepting = Thread.new do
      loop do
        threads << Thread.new(server.accept) { |socket| serve(socket, waiting, count) }
      end
    end
    yield "http://127.0.0.1:#{server.addr[1]}"
  ensure
    [accepting, *threads].each(&:kill)
    server.close
  end

  # Each gets its answer when as many have come.
  def serve(socket, waiting, count)
    while (head = socket.gets("\r\n\r\n"))
      socket.write("HTTP/1.1 100 Continue\r\n\r\n") if head.match?(/100-continue/i)
      socket.read(head[/content-length: (\d+)/i, 1].to_i)
      all = @lock.synchronize { waiting.push(socket).size == count ? waiting.shift(count) : [] }
      all.each { |one| one.write("HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n") }
    end
  rescue SystemCallError
    nil
  end

  code = <<~RUBY
    RperfPush.configure do |config|
      config.server_address = ENV["SERVER"]
      config.mode = [:cpu, :wall, :alloc]
      config.upload_interval = 1800
      config.spool_directory = ENV["SPOOL"]
    end
    2.times do
      Array.new(1_000) { "a" * 100 }
      400_000.times { |i| i * 2 }
      print RperfPush.flush(timeout: 60), " "
    end
    Array.new(1_000) { "b" * 100 }
    400_000.times { |i| i * 2 }
    RperfPush.shutdown(timeout: 60)
    print RperfPush.stats.values_at(:payloads_created, :payloads_delivered, :payloads_unconfirmed)
  RUBY

  { "from memory" => false, "with a spool" => true }.each do |how, spool|
    it "wait for one answer, #{how}" do
      answering_all_at_once(2) do |url|
        out, err, = run_ruby(code, env: { "SERVER" => url, "SPOOL" => spool ? "#{tmpdir}/spool" : nil })
        expect([out, err]).to eq(["true true [6, 6, 0]", ""])
      end
    end
  end
end
