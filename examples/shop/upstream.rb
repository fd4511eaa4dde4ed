# frozen_string_literal: true

# The payment and stock services that the shop calls. Prints its address, and ends when its standard input does.

require "json"
require "puma"
require "puma/server"

# Answers correctly, but not soon.
class Services
  PAYMENT_SECONDS = 0.04..0.08
  STOCK_SECONDS = 0.02

  def call(env)
    case env["PATH_INFO"]
    when "/payments" then answer(rand(PAYMENT_SECONDS), authorized: true, reference: rand(36**8).to_s(36))
    when "/stock" then answer(STOCK_SECONDS, levels: Array.new(600) { |index| [index + 1, rand(0..40)] })
    else [404, { "content-type" => "application/json" }, ["{}"]]
    end
  end

  private

  def answer(seconds, document)
    sleep(seconds)
    [200, { "content-type" => "application/json" }, [JSON.generate(document)]]
  end
end

trap("INT", "IGNORE") # Ctrl-C reaches the whole process group; the shop still needs its upstream to finish its work
server = Puma::Server.new(Services.new, nil, min_threads: 8, max_threads: 16)
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run
$stdout.puts "http://127.0.0.1:#{port}"
$stdout.flush
$stdin.read
server.stop(true)
