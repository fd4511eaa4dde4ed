# frozen_string_literal: true

require "fileutils"
require "json"
require "time"
require "tmpdir"
require_relative "certificates"
require_relative "held_port"
require_relative "nginx"
require_relative "scripted_server"

# All that can go wrong on the way to a server, by the names that docs/delivery.md gives it: a real nginx, and a server that
# breaks the rules below HTTP.
#
#   settings = stage.set("the server hangs before the answer")   # what to configure
#   stage.mend                                                     # from now on the same address takes everything
class FaultStage
  Scene = Struct.new(:mends, :settings)

  # name => Scene
  SCENES = {}

  # @param mends [Boolean] whether mend helps
  # @yieldreturn [Hash] the settings that lead to it
  def self.scene(name, mends: true, &settings) = SCENES[name] = Scene.new(mends, settings)

  SHORT_TIMEOUT = { upload_timeout: 2 }.freeze # where the answer never comes; on a busy machine the request takes its time to go out
  STATUSES = [400, 403, 404, 415, 422, 429, 500, 501, 503, 507, 520, 521, 524, 530].freeze # the others come about by themselves

  scene("nothing listens there", mends: false) { at("http://127.0.0.1:#{closed_port}") }
  scene("its name is not known", mends: false) { at("http://pyroscope.invalid:4040") }
  scene("nobody takes the connection", mends: false) { at("http://127.0.0.1:#{full_backlog}", **SHORT_TIMEOUT) }

  scene("no TLS is spoken there", mends: false) { at(tls(:plain)) }
  scene("the connection is reset in the TLS handshake", mends: false) { at(rude.url(scheme: "https")) }
  scene("the certificate's authority is not known", mends: false) { at(tls(:right), tls_ca_file: nil) }
  scene("the certificate has signed itself", mends: false) { at(tls(:self_signed)) }
  scene("the certificate is for another name", mends: false) { at(tls(:elsewhere)) }
  scene("the certificate has expired", mends: false) { at(tls(:expired)) }
  scene("the certificate is not valid yet", mends: false) { at(tls(:future)) }
  scene("a client certificate is missing", mends: false) { at(tls(:mutual)) }

  scene("it hangs before the answer") { answering(**SHORT_TIMEOUT) { |socket| hang(socket) } }
  scene("it hangs in the status line") { answering(**SHORT_TIMEOUT) { |socket| socket.write("HTTP/1.1 2") && hang(socket) } }
  scene("it hangs in the body of a 503") do # of which the head must come in time
    answering(upload_timeout: 3) { |socket| socket.write("HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 9\r\n\r\nbusy") && hang(socket) }
  end
  scene("it hangs after the answer") { answering { |socket| socket.write(ScriptedServer::OK) && hang(socket) } }
  scene("it reads one byte a second", mends: false) { at(slow_reader.url, upload_timeout: 3) } # a third of it waits for a 100
  scene("it writes one byte a second") { answering(**SHORT_TIMEOUT) { |socket| trickle(socket) } }
  scene("the connection is closed without an answer") { answering { nil } }
  scene("the connection is reset without an answer") { answering { |socket| ScriptedServer.reset(socket) } }
  scene("half a status line comes") { answering { |socket| socket.write("HTTP/1.1 2") } }
  scene("half the body of a 200 comes") { answering { |socket| socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\nhalf") } }
  scene("a 400 with 1 GB of text comes") { answering { |socket| gigabyte(socket, "400 Bad Request") } }
  scene("a 200 with 1 GB of text comes") { answering { |socket| gigabyte(socket, "200 OK") } }
  scene("a 200 comes by HTTP/1.0") { answering { |socket| socket.write("HTTP/1.0 200 OK\r\n\r\ndone") } }
  scene("a 200 comes in chunks") do
    answering { |socket| socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n0\r\n\r\n") }
  end

  [*STATUSES, 401, 413, 502].each { |status| scene("status #{status}") { at("#{nginx.url(:plain)}/#{status}") } }
  scene("status 408") { answering { |socket| plain(socket, "408 Request Timeout") } } # nginx just closes then
  scene("status 504") do
    server.answer { |socket| hang(socket) }
    at("#{nginx.url(:plain)}/504")
  end
  scene("status 429 with Retry-After in seconds") { answering { |socket| plain(socket, "429 Slow Down", "Retry-After: 3") } }
  scene("status 503 with Retry-After as a date") do
    answering { |socket| plain(socket, "503 Busy", "Retry-After: #{(Time.now + 4).httpdate}") }
  end
  scene("status 429 that speaks of the message's size") do
    answering { |socket| plain(socket, "429 Too Many", text: "received message larger than max message size") }
  end
  { "status 500 that says internal" => %w[internal no\ space\ left],
    "status 500 that says invalid_argument" => %w[invalid_argument no\ labels],
    "status 500 of an Alloy whose second target failed" => ["internal", "unable to append series {} to appendable 1: refused"] }.each do |name, (code, message)|
    scene(name) { answering { |socket| plain(socket, "500 Oh", text: JSON.generate(code:, message:)) } }
  end
  scene("a 200 with a login page") { at("#{nginx.url(:plain)}/login") }
  scene("a redirect to another host") { at("#{nginx.url(:plain)}/redirect", auth_token: "t0psecret") }
  scene("a proxy asks for a password") { at(server.url, proxy: nginx.url(:proxy)) }
  scene("a proxy asks for a password on the way to TLS", mends: false) do
    at("https://pyroscope.invalid", proxy: shut_proxy.url)
  end

  # @return [ScriptedServer] where it all ends
  attr_reader :server

  # @return [ScriptedServer] the other host, which nobody should hear of
  attr_reader :other

  def initialize
    @folder = Dir.mktmpdir("faults-")
    @authority = Certificates.new(@folder)
    @server = ScriptedServer.new
    @other = ScriptedServer.new
    @rude = ScriptedServer.new { |socket| socket.readpartial(1) && ScriptedServer.reset(socket) }
    @slow_reader = ScriptedServer.new { |socket| sleep 1 while socket.readpartial(1) }
    @shut_proxy = ScriptedServer.new { |socket| ScriptedServer::Request.read(socket) && plain(socket, "407 Who Is There") }
    @nginx = Nginx.new { |nginx| servers(nginx) }
    @closed_port = HeldPort.new
    @backlogs = []
  end

  # @return [Hash{Symbol => Object}]
  def set(name)
    FileUtils.touch(broken)
    instance_exec(&SCENES.fetch(name).settings)
  end

  def mend
    FileUtils.rm_f(broken)
    server.answer
  end

  def stop
    @nginx.stop
    [server, other, rude, slow_reader, shut_proxy, *@backlogs].each { |one| one.respond_to?(:stop) ? one.stop : one.close }
    FileUtils.rm_rf(@folder)
  end

  private

  attr_reader :nginx, :rude, :slow_reader, :shut_proxy, :closed_port

  # While this file exists nginx misbehaves.
  def broken = "#{@folder}/broken"

  def at(address, **settings) = { server_address: address, tls_ca_file: @authority.file, **settings }

  def tls(port) = nginx.url(port, scheme: "https")

  def answering(**settings, &)
    server.answer(&)
    at(server.url, **settings)
  end

  # Until the other end goes away
  def hang(socket) = socket.read

  # @return [Integer] a port whose queue of connections is full, so that the system drops what comes
  def full_backlog
    listener = Socket.new(:INET, :STREAM)
    listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    listener.listen(0)
    waiting = Array.new(3) { Socket.new(:INET, :STREAM).tap { |socket| socket.connect_nonblock(listener.local_address, exception: false) } }
    @backlogs.push(listener, *waiting)
    listener.local_address.ip_port
  end

  def plain(socket, status, *headers, text: "")
    head = ["HTTP/1.1 #{status}", *headers, "Connection: close", "Content-Type: text/plain", "Content-Length: #{text.bytesize}"]
    socket.write("#{head.join("\r\n")}\r\n\r\n#{text}")
  end

  def trickle(socket)
    ScriptedServer::OK.each_char do |char|
      socket.write(char)
      sleep 1
    end
  end

  def gigabyte(socket, status)
    socket.write("HTTP/1.1 #{status}\r\nContent-Type: text/plain\r\nContent-Length: #{2**30}\r\n\r\n")
    piece = "0" * (2**20)
    1024.times { socket.write(piece) }
  end

  def servers(nginx)
    <<~CONF
      server {
        listen #{nginx.listen(:plain)};
        #{locations.map { |name, code| "location /#{name}/ { if (-f #{broken}) { #{code} } proxy_pass #{server.url}/; }" }.join("\n  ")}
        location /private/ { auth_basic private; auth_basic_user_file #{@folder}/nobody; }
        location /narrow/ { client_max_body_size 1; proxy_pass #{server.url}/; }
        location /page/ { default_type text/html; return 200 "<html>Sign in</html>"; }
        location /nobody/ { proxy_pass http://127.0.0.1:1/; }
        location /504/ { proxy_read_timeout 300ms; proxy_pass #{server.url}/; }
      }
      server {
        listen #{nginx.listen(:proxy)};
        location / { if (-f #{broken}) { return 407; } proxy_pass http://$http_host; }
      }
      #{tls_servers(nginx)}
    CONF
  end

  # path => what nginx does there while it is broken
  def locations
    inner = { "401" => "private", "413" => "narrow", "502" => "nobody", "login" => "page" }
    STATUSES.to_h { |status| [status, "return #{status};"] }
            .merge(inner.to_h { |name, place| [name, "rewrite ^/#{name}/(.*)$ /#{place}/$1 last;"] })
            .merge("redirect" => "return 301 #{other.url}/elsewhere;")
  end

  def tls_servers(nginx)
    File.write("#{@folder}/nobody", "")
    day = 86_400
    { right: {}, self_signed: { self_signed: true }, elsewhere: { names: "DNS:elsewhere.example" },
      expired: { from: Time.now - (2 * day), to: Time.now - day }, future: { from: Time.now + day, to: Time.now + (2 * day) },
      mutual: {} }.map do |name, options|
      pair = @authority.issue(name.to_s, **options)
      verify = "ssl_verify_client on; ssl_client_certificate #{@authority.file};" if name == :mutual
      <<~CONF
        server {
          listen #{nginx.listen(name)} ssl;
          ssl_certificate #{pair.certificate};
          ssl_certificate_key #{pair.key};
          #{verify}
          location / { proxy_pass #{server.url}; }
        }
      CONF
    end.join
  end
end
