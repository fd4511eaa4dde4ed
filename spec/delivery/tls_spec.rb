# frozen_string_literal: true

require_relative "../support/certificates"
require_relative "../support/nginx"
require_relative "../support/scripted_server"
require_relative "../support/working_process"

# What is refused is in spec/delivery/faults_spec.rb. Here is what is accepted, and what it takes.
RSpec.describe "TLS to a real nginx", :once, :waiting do
  before(:all) do
    @folder = Dir.mktmpdir("tls-")
    @authority = Certificates.new(@folder)
    @strangers = Certificates.new(@folder, name: "strangers")
    @server = ScriptedServer.new
    @nginx = Nginx.new { |nginx| servers(nginx) }
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => @server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800",
                              "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "10")
  end

  after(:all) do
    @app&.kill
    @nginx&.stop
    @server&.stop
    FileUtils.rm_rf(@folder)
  end

  attr_reader :app, :authority, :nginx

  def servers(nginx)
    names = %w[one.localhost two.localhost].map do |name|
      server(nginx.listen(:names), authority.issue(name, names: "DNS:#{name}"), "server_name #{name};")
    end
    [server("#{nginx.listen(:names)} default_server", authority.issue("elsewhere", names: "DNS:elsewhere.example")), *names,
     server(nginx.listen(:self_signed), authority.issue("own", self_signed: true)),
     server(nginx.listen(:mutual), authority.issue("mutual"), "ssl_verify_client on; ssl_client_certificate #{authority.file};")].join
  end

  def server(listen, pair, more = "")
    <<~CONF
      server {
        listen #{listen} ssl;
        ssl_certificate #{pair.certificate};
        ssl_certificate_key #{pair.key};
        #{more}
        location / { proxy_pass #{@server.url}; proxy_set_header X-Name $ssl_server_name; proxy_set_header X-Client $ssl_client_s_dn; }
      }
    CONF
  end

  # What the last configuration still had to send has gone when this is done.
  def configure(port, host: "127.0.0.1", **settings)
    app.configure(server_address: nginx.url(port, scheme: "https", host:), **settings)
    @taken_before = @server.taken.size
    @failed_before = failed
  end

  def failed = app.stats.values_at("uploads_retried", "uploads_failed").sum
  def arrived = @server.taken.drop(@taken_before)

  # @return [Hash{String => String}] the headers of what arrived
  def deliver(...)
    configure(...)
    expect(app.flush(40)).to be(true), app.log
    arrived.first.headers
  end

  # @return [String] why nothing arrived
  def refused(...)
    configure(...)
    app.flush(0.1)
    wait_until("a failure") { failed > @failed_before }
    expect(arrived).to eq([])
    app.stats["last_error"]
  end

  it "names the host that it wants, so that one address may serve several" do
    %w[one.localhost two.localhost].each do |host|
      expect(deliver(:names, host:, tls_ca_file: authority.file)).to include("x-name" => host)
    end
  end

  it "trusts the authority that tls_ca_file names, and no other then" do
    expect(deliver(:names, host: "one.localhost", tls_ca_file: authority.file)).to include("x-name" => "one.localhost")
    expect(refused(:names, host: "one.localhost", tls_ca_file: @strangers.file))
      .to match(/\ATLS with one.localhost:\d+ failed: SSL certificate problem/)
  end

  it "trusts what SSL_CERT_FILE names, as curl does" do
    app.run("ENV['SSL_CERT_FILE'] = #{authority.file.inspect}")
    expect(deliver(:names, host: "one.localhost")).to include("x-name" => "one.localhost")
  ensure
    app.run("ENV.delete('SSL_CERT_FILE')")
  end

  it "trusts anybody with tls_verify = false only" do
    expect(refused(:self_signed)).to match(/\ATLS with .* self-signed certificate/)
    deliver(:self_signed, tls_verify: false)
  end

  it "shows the client certificate that nginx demands" do
    client = authority.issue("profiled-client")
    headers = deliver(:mutual, tls_ca_file: authority.file, tls_client_cert: client.certificate, tls_client_key: client.key)
    expect(headers).to include("x-client" => "CN=profiled-client")
  end

  it "is not let in with a client certificate of strangers" do
    client = @strangers.issue("stranger")
    expect(refused(:mutual, tls_ca_file: authority.file, tls_client_cert: client.certificate, tls_client_key: client.key))
      .to match(/\AHTTP 400/)
  end

  it "says so when the key does not fit, or a file is not there" do
    client = authority.issue("client")
    other = authority.issue("other")
    [[client.certificate, other.key], [client.certificate, "/nowhere/key.pem"], ["/nowhere/cert.pem", client.key]].each do |certificate, key|
      expect(refused(:mutual, tls_ca_file: authority.file, tls_client_cert: certificate, tls_client_key: key))
        .to match(/\ATLS with 127.0.0.1:\d+ failed: .*(?:private key|certificate)/i)
    end
  end
end
