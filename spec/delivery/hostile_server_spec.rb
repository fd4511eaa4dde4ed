# frozen_string_literal: true

require "zlib"
require_relative "../support/scripted_server"
require_relative "../support/working_process"

# What a fuzzer and the core's own tests try within one answer is tried here on the real gem: it stays up, stays small, keeps
# its time, and sends the next window when the server is itself again.
RSpec.describe "A hostile server", :once, :waiting, :short do
  before(:all) do
    @server = ScriptedServer.new
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => @server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800",
                              "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "0.2")
    @app.flush
    @memory = @app.most_memory
  end

  after(:all) do
    @app&.kill
    @server&.stop
  end

  attr_reader :app, :server

  bomb = Zlib.gzip("\0" * (64 * 1024 * 1024), level: 9).freeze
  endless = ->(socket, piece) { loop { socket.write(piece * (65_536 / piece.bytesize)) } }
  ok = "HTTP/1.1 200 OK\r\n"

  {
    "random bytes" => ->(socket) { 64.times { socket.write(Random.bytes(16_384)) } },
    "random bytes behind a good head" => ->(socket) { socket.write("#{ok}Transfer-Encoding: chunked\r\n\r\n", Random.bytes(65_536)) },
    "headers without end" => ->(socket) { socket.write(ok) && endless.call(socket, "X-More: and more\r\n") },
    "one header without end" => ->(socket) { socket.write(ok, "X-More: ") && endless.call(socket, "x") },
    "a status line without end" => ->(socket) { socket.write("HTTP/1.1 200 ") && endless.call(socket, "O") },
    "an extension of a chunk without end" => ->(socket) { socket.write("#{ok}Transfer-Encoding: chunked\r\n\r\n4") && endless.call(socket, ";more=more") },
    "chunks of a byte without end" => ->(socket) { socket.write("#{ok}Transfer-Encoding: chunked\r\n\r\n") && endless.call(socket, "1\r\nx\r\n") },
    "trailers without end" => ->(socket) { socket.write("#{ok}Transfer-Encoding: chunked\r\n\r\n0\r\n") && endless.call(socket, "X-More: 1\r\n") },
    "a chunk larger than all memory" => ->(socket) { socket.write("#{ok}Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n") && endless.call(socket, "x") },
    "a length below zero" => ->(socket) { socket.write("#{ok}Content-Length: -1\r\n\r\n") && endless.call(socket, "x") },
    "two lengths and chunks" => ->(socket) { socket.write("#{ok}Content-Length: 5\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\nwhatever") },
    "a bomb of gzip" => ->(socket) { socket.write("#{ok}Content-Encoding: gzip\r\nContent-Length: #{bomb.bytesize}\r\n\r\n", bomb) },
    "a bomb of gzip in an error" => lambda { |socket|
      socket.write("HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\nContent-Length: #{bomb.bytesize}\r\n\r\n", bomb)
    },
    "100 Continue without end" => ->(socket) { endless.call(socket, "HTTP/1.1 100 Continue\r\n\r\n") },
    "early hints without end" => ->(socket) { endless.call(socket, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") },
    "101 Switching Protocols" => ->(socket) { socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", Random.bytes(4096)) },
    "the preface of HTTP/2" => ->(socket) { socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Random.bytes(4096)) },
    "cookies and headers with NUL" => ->(socket) { socket.write("#{ok}Set-Cookie: a=\0b\r\nRetry-After: \0\xFF\r\nContent-Length: 0\r\n\r\n") },
    "an error of a megabyte of escape sequences" => lambda { |socket|
      text = "\e[2J\e]0;title\a\r\n[rperf-push] uploads work again\n" * 20_000
      socket.write("HTTP/1.1 400 No\r\nContent-Type: text/plain\r\nContent-Length: #{text.bytesize}\r\n\r\n", text)
    }
  }.each do |what, answer|
    it "may answer #{what}" do
      app.configure(server_address: server.url, upload_timeout: 1)
      before = app.stats
      log = app.log.size
      server.answer { |socket, _| answer.call(socket) }
      app.flush(0.1)
      ends = %w[payloads_delivered payloads_unconfirmed payloads_dropped_rejected]
      wait_until("its end") { app.stats.values_at(*ends).sum > before.values_at(*ends).sum }
      expect(app.log[log..]).to match(/\A(?:\[rperf-push\] [[:print:]]{1,900}\n)*\z/)

      server.answer
      taken = server.taken.size
      wait_until("the next window") { app.flush(40) } # on a busy machine its answer may be too late, too
      expect(server.taken.size).to be > taken
      expect(app.most_memory - @memory).to be < 64
    ensure
      server.answer
    end
  end
end
