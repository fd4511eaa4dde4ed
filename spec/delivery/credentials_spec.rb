# frozen_string_literal: true

require "json"
require "pp"
require "rperf_push"
require_relative "../support/fault_stage"
require_relative "../support/scripted_server"
require_relative "../support/working_process"

RSpec.describe "Credentials", :once, :waiting do
  include CommandLine

  # Where each is put => what must never be seen elsewhere
  secrets = { basic_auth_password: "gehe1mPassword", auth_token: "gehe1mToken", http_headers: "gehe1mHeader", server_address: "gehe1mAddress",
              proxy: "gehe1mProxy" }.freeze
  seen = Regexp.union(*secrets.values, /gehe1m/i, *%w[basic_auth_password server_address proxy].map { |option| ["me:#{secrets[option.to_sym]}"].pack("m0") })

  # One set of settings for each place, as no request uses all of them
  places = {
    basic_auth_password: { basic_auth_username: "me", basic_auth_password: secrets[:basic_auth_password] },
    auth_token: { auth_token: secrets[:auth_token] },
    http_headers: { http_headers: { "X-Api-Key" => secrets[:http_headers] } },
    server_address: {},
    proxy: {}
  }.freeze

  before(:all) do
    @stage = FaultStage.new
    @spool = Dir.mktmpdir("spool-")
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => @stage.server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800",
                              "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "10")
  end

  after(:all) do
    @app&.kill
    @stage&.stop
    FileUtils.rm_rf(@spool)
  end

  attr_reader :app, :stage

  def fail_with(**settings)
    app.configure(**settings)
    before = failures
    app.flush(0.1)
    wait_until("a failure") { failures > before }
  end

  def failures = app.stats.values_at("uploads_retried", "uploads_failed").sum

  # All that the process shows of itself: what it wrote, what it answers, what it is called, what it left on disk.
  def shown
    threads = Dir["/proc/#{app.pid}/task/*/comm"].map { |path| File.read(path) }
    spooled = Dir["#{@spool}/**/*"].flat_map { |path| [path, File.file?(path) ? File.binread(path) : ""] }
    [app.log, app.run("RperfPush.stats.inspect"), File.read("/proc/#{app.pid}/cmdline"), *threads, *spooled].map(&:b).join("\n")
  end

  # @return [Hash{Symbol => Object}] the settings, with the credentials where they belong
  def with_credentials(place, settings, places, secrets)
    settings = settings.merge(places[place])
    settings[:server_address] = settings[:server_address].sub("//", "//me:#{secrets[place]}@") if place == :server_address
    settings
  end

  faults = ["nothing listens there", "its name is not known", "no TLS is spoken there", "the certificate's authority is not known",
            "it hangs before the answer", "the connection is reset without an answer", "status 401", "status 403", "status 503",
            "a redirect to another host"].freeze

  (places.keys - [:proxy]).each do |place|
    it "in #{place} arrive, and are not seen whatever goes wrong" do
      stage.mend
      app.configure(**with_credentials(place, { server_address: stage.server.url }, places, secrets))
      expect(app.flush(40)).to be(true), app.log
      expect(stage.server.taken.last.headers.values.join(" ")).to match(seen)

      faults.each do |fault|
        app.run("RperfPush.shutdown") # what is left shall not meet the new fault
        settings = stage.set(fault).except(:auth_token)
        fail_with(**with_credentials(place, settings, places, secrets), spool_directory: @spool)
      ensure
        stage.mend
      end
      # A server that is not content may repeat what it was sent.
      stage.server.answer do |socket, request|
        text = "no access for #{request.headers.values.join(", ")} #{JSON.generate(request.headers)}"
        socket.write("HTTP/1.1 401 No\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}")
      end
      app.configure(**with_credentials(place, { server_address: stage.server.url }, places, secrets))
      app.flush(0.1)
      wait_until("the refusal") { app.stats["last_error"].to_s.include?("no access for") && app.log.include?("no access for") }
      expect(shown.scan(seen).uniq).to eq([])
      expect(stage.other.taken).to eq([])
    ensure
      stage.mend
    end
  end

  it "of a proxy are not seen whatever goes wrong" do
    refusing = ScriptedServer.new { |socket| ScriptedServer::Request.read(socket) && socket.write("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n") }
    socks = ScriptedServer.new { |socket| socket.readpartial(9) && socket.write("\x05\xFF") } # none of your methods
    ["http://me:#{secrets[:proxy]}@127.0.0.1:1", "http://me:#{secrets[:proxy]}@proxy.invalid:1",
     refusing.url.sub("//", "//me:#{secrets[:proxy]}@"), "socks5h://me:#{secrets[:proxy]}@127.0.0.1:#{socks.port}"].each do |proxy|
      %w[http://pyroscope.invalid https://pyroscope.invalid].each do |address|
        fail_with(server_address: address, proxy:, shutdown_timeout: 0.2)
      end
    end
    expect(app.log).to match(/the proxy answered HTTP 407/)
    expect(shown.scan(seen).uniq).to eq([])
  ensure
    [refusing, socks].compact.each(&:stop)
  end

  it "are not seen in the configuration, nor in what is said of errors" do
    address = "https://me:#{secrets[:server_address]}@pyroscope"
    proxy = "http://me:#{secrets[:proxy]}@proxy:1"
    all = places.values.inject(:merge).merge(server_address: address, proxy:)
    texts = []
    RperfPush.configure! do |config|
      config.enabled = false
      all.each { |option, value| config.public_send(:"#{option}=", value) }
      texts << config.inspect << config.to_s << config.pretty_inspect
    end
    errors = { server_address: "#{address} x", proxy: "#{proxy} x", auth_token: "#{secrets[:auth_token]}\n",
               basic_auth_password: "#{secrets[:basic_auth_password]}\0", basic_auth_username: "a:#{secrets[:basic_auth_password]}",
               http_headers: { "X" => "#{secrets[:http_headers]}\r\n", "Authorization: #{secrets[:http_headers]}" => "" } }
    errors.each do |option, value|
      RperfPush.configure! { |config| all.merge(option => value).each { |name, its| config.public_send(:"#{name}=", its) } }
      raise "#{option} was taken"
    rescue RperfPush::ConfigurationError => e
      texts << e.message << e.full_message << e.inspect << e.detailed_message
      expect(e.message).to include(option.to_s)
    end
    expect(texts.join("\n")).not_to match(seen)
  end

  it "are not seen in what rperf-push says, nor in the arguments of what it starts" do
    env = { "RPERF_PUSH_SERVER_ADDRESS" => "http://me:#{secrets[:server_address]}@127.0.0.1:1", "RPERF_PUSH_PROXY" => "http://me:#{secrets[:proxy]}@127.0.0.1:1",
            "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "0.2" }
    checked = rperf_push("check", env:)
    expect([checked.status, checked.all]).to match([1, satisfy { |text| !text.match?(seen) }])

    ran = rperf_push("run", RbConfig.ruby, "-e", "print File.read('/proc/self/cmdline'), $PROGRAM_NAME, Thread.list.map(&:name)", env:)
    expect(ran.status).to eq(0), ran.all
    expect(ran.all).not_to match(seen)
  end

  # Beyond what the core's own tests have: each option that ends in a request or a URL.
  ["\r\nX-Smuggled: 1", "\nX-Smuggled: 1", "\r", "\0"].each do |bad|
    it "with #{bad.inspect} in them are refused, and so is every other part of a request" do
      secret = "gehe1m#{bad}"
      { server_address: "http://me:#{secret}@h", proxy: "http://me:#{secret}@p:1", auth_token: secret, basic_auth_password: secret,
        http_headers: { "X-Key" => secret }, tls_client_key: secret, basic_auth_username: "me#{bad}", tenant_id: "t#{bad}",
        tls_ca_file: "ca#{bad}", tls_client_cert: "c#{bad}" }.each do |option, value|
        settings = { server_address: "http://h", basic_auth_username: "me", tls_client_cert: "c" }.merge(option => value)
        expect { RperfPush.configure! { |config| settings.each { |name, its| config.public_send(:"#{name}=", its) } } }
          .to raise_error(RperfPush::ConfigurationError, /\A#{option}(?: must be|: the value)(?!.*gehe1m)/), option.to_s
      end
      expect { RperfPush.configure! { |config| config.http_headers = { "X#{bad}" => "gehe1m" } } }
        .to raise_error(RperfPush::ConfigurationError, /\Ahttp_headers: the name(?!.*gehe1m)/)
    end
  end
end
