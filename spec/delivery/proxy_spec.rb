# frozen_string_literal: true

require "uri"
require_relative "../support/certificates"
require_relative "../support/connect_proxy"
require_relative "../support/nginx"
require_relative "../support/scripted_server"
require_relative "../support/working_process"

RSpec.describe "A proxy", :once, :waiting, :short, :quick do
  before(:all) do
    @folder = Dir.mktmpdir("proxy-")
    @authority = Certificates.new(@folder)
    pair = @authority.issue("server")
    @server = ScriptedServer.new
    @connect = ConnectProxy.new
    @nginx = Nginx.new do |nginx|
      <<~CONF
        server {
          listen #{nginx.listen(:tls)} ssl;
          ssl_certificate #{pair.certificate};
          ssl_certificate_key #{pair.key};
          location / { proxy_pass #{@server.url}; }
        }
        server {
          listen #{nginx.listen(:forward)};
          location / {
            if ($http_proxy_authorization != "Basic #{["me:pr0xy:pass"].pack("m0")}") { return 407; }
            proxy_set_header Proxy-Authorization "";
            proxy_set_header X-Proxied yes;
            proxy_pass http://$http_host;
          }
        }
      CONF
    end
    @app = WorkingProcess.new("RPERF_PUSH_SERVER_ADDRESS" => @server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1800",
                              "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "10", **variables.to_h { |name| [name, nil] })
  end

  after(:all) do
    @app&.kill
    [@nginx, @connect, @server].compact.each(&:stop)
    FileUtils.rm_rf(@folder)
  end

  attr_reader :app, :server, :nginx

  def variables = %w[http_proxy https_proxy all_proxy no_proxy].flat_map { |name| [name, name.upcase] }

  def change_environment(values) = app.run("ENV.update(#{values.inspect})")

  # @return [:proxy, :direct, nil] the way that a window took; nil: it did not arrive
  def way(address, environment = {}, **settings)
    change_environment(variables.to_h { |name| [name, nil] }.merge(environment))
    app.configure(server_address: address, tls_ca_file: @authority.file, **settings)
    proxied = @connect.requests.size # what the last configuration still had to send has gone
    arrived = server.taken.size
    return unless app.flush(40)

    request = server.taken.drop(arrived).first
    request.headers["x-proxied"] || @connect.requests.size > proxied ? :proxy : :direct
  ensure
    change_environment(variables.to_h { |name| [name, nil] })
  end

  def forward = nginx.url(:forward).sub("//", "//me:pr0xy%3Apass@")
  def nobody = "http://127.0.0.1:1"
  def tls = nginx.url(:tls, scheme: "https")

  it "is asked with its own user and password, which the server does not see" do
    expect(way(server.url, proxy: forward)).to eq(:proxy), app.log
    expect(server.taken.last.headers.keys).not_to include("proxy-authorization")
  end

  it "with another password lets nothing through" do
    expect(way(server.url, proxy: nginx.url(:forward).sub("//", "//me:wrong@"))).to be_nil
    expect(app.stats["last_error"]).to eq("HTTP 407 (check the user and password of the proxy)")
  end

  it "opens the way for TLS, and sees nothing of what is meant for the server" do
    expect(way(tls, proxy: @connect.url("me:pr0xypass@"), auth_token: "t0psecret", http_headers: { "X-Key" => "k3yk3yk3y" })).to eq(:proxy), app.log
    asked = @connect.requests.last
    expect([asked.verb, asked.path]).to eq(["CONNECT", URI(tls).then { |uri| "#{uri.host}:#{uri.port}" }])
    expect(asked.headers).to include("proxy-authorization" => "Basic #{["me:pr0xypass"].pack("m0")}")
    expect(asked.headers.keys & %w[authorization x-key]).to eq([])
    expect(server.taken.last.headers).to include("authorization" => "Bearer t0psecret", "x-key" => "k3yk3yk3y")
  end

  # As curl has it, http_proxy in small letters only: in a CGI program whoever sends a request sets the other one.
  describe "of the environment" do
    it "is used for its scheme" do
      expect(way(server.url, { "http_proxy" => forward })).to eq(:proxy)
      expect(way(server.url, { "https_proxy" => nobody })).to eq(:direct)
      expect(way(tls, { "https_proxy" => @connect.url })).to eq(:proxy)
      expect(way(tls, { "HTTPS_PROXY" => @connect.url })).to eq(:proxy)
      expect(way(tls, { "http_proxy" => nobody })).to eq(:direct)
    end

    it "is used for both as all_proxy" do
      expect(way(server.url, { "all_proxy" => forward })).to eq(:proxy)
      expect(way(server.url, { "ALL_PROXY" => forward })).to eq(:proxy)
      expect(way(server.url, { "http_proxy" => forward, "all_proxy" => nobody })).to eq(:proxy)
    end

    it "is not HTTP_PROXY" do
      expect(way(server.url, { "HTTP_PROXY" => nobody })).to eq(:direct)
    end

    it "is left out for what no_proxy names" do
      ["127.0.0.1", "other.example,127.0.0.1", "*"].each do |hosts|
        expect(way(server.url, { "http_proxy" => nobody, "no_proxy" => hosts })).to eq(:direct), hosts
      end
      expect(way(server.url, { "http_proxy" => nobody, "NO_PROXY" => "127.0.0.1" })).to eq(:direct)
      expect(way(server.url, { "http_proxy" => forward, "no_proxy" => "other.example" })).to eq(:proxy)
    end

    it "gives way to the option, which no_proxy does not touch" do
      expect(way(server.url, { "http_proxy" => nobody }, proxy: forward)).to eq(:proxy)
      expect(way(server.url, { "no_proxy" => "*" }, proxy: forward)).to eq(:proxy)
      expect(way(server.url, { "http_proxy" => nobody }, proxy: "")).to eq(:direct)
    end
  end
end
