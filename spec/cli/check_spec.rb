# frozen_string_literal: true

require "socket"
require "uri"
require_relative "../support/held_port"
require_relative "../support/fake_parca"
require_relative "../support/fake_pyroscope"
require_relative "../support/scripted_server"
require_relative "../support/tls_front"

RSpec.describe "rperf-push check", :once, :waiting do
  include CommandLine

  def check(url, *arguments, **env)
    rperf_push("check", "--server", url, "--application", "shop", *arguments, env: env.transform_keys { |key| "RPERF_PUSH_#{key.upcase}" })
  end

  # What is said when the server answers so.
  def check_answer(status, body = "", **headers)
    answer = FakePyroscope::HttpAnswer.text(status, body, headers.transform_keys { |name| name.to_s.tr("_", "-") })
    server = FakePyroscope::HttpServer.new { answer }
    check(server.url)
  ensure
    server&.stop
  end

  def fake_server(**options)
    fake_server = FakePyroscope.new(**options)
    yield fake_server
  ensure
    fake_server&.stop
  end

  def closed_port = (@closed_port ||= HeldPort.new).number

  it "delivers a profile that the server takes, and says where to find it" do
    fake_server do |server|
      ended = check(server.url, tags: "env=test")
      expect(ended.status).to eq(0), ended.all
      expect(ended.err).to eq("")
      expect(ended.out).to match(/\Apyroscope at #{server.url}, application_name shop\nok: delivered in \d+ ms\n.*service_name="shop"/)
      expect(server.received.map(&:status)).to eq([200])
      expect(server.violations).to eq([])
      expect(server.received.first.labels).to include(%w[service_name shop], %w[env test])
      expect(server.received.first.profile.sample.map { |sample| sample.value.to_a }).to eq([[1_000_000, 1_000_000]])
    end
  end

  it "is content with a server of old rules" do
    fake_server(rules: :v1) { |server| expect(check(server.url).status).to eq(0) }
  end

  it "keeps a path in front" do
    fake_server(prefix: "/profiles") { |server| expect(check(server.url).status).to eq(0) }
  end

  it "writes into a directory" do
    ended = rperf_push("check", "--directory", "#{tmpdir}/new", "--backend", "directory")
    expect([ended.status, ended.out]).to match([0, %r{\Adirectory at #{tmpdir}/new, .*\nok: delivered}])
    expect(Dir["#{tmpdir}/new/*.pb.gz"].size).to eq(1)
  end

  describe "a directory" do
    def check_directory(*arguments, **env)
      ended = rperf_push("check", *arguments, env: env.transform_keys { |key| "RPERF_PUSH_#{key.upcase}" })
      ended.status.zero? ? [ended.out[/\A\w+ at \S+/], Dir["#{tmpdir}/new/*.pb.gz"].size] : ended.err
    end

    let(:written) { ["directory at #{tmpdir}/new,", 1] }
    let(:folder) { "#{tmpdir}/new" }

    def error(backend) = "rperf-push: directory must come with backend directory, or without a backend, got backend #{backend}\n"

    it "means its backend, as an option and in the environment" do
      expect(check_directory("--directory", folder)).to eq(written)
      FileUtils.rm_rf(folder)
      expect(check_directory(directory: folder)).to eq(written)
      FileUtils.rm_rf(folder)
      expect(check_directory("--backend", "directory", directory: folder)).to eq(written)
    end

    it "goes over a backend that the environment or an initializer has" do
      File.write("#{tmpdir}/initializer.rb", "RperfPush.configure { |config| config.backend = :parca }")
      expect(check_directory("--directory", folder, backend: "parca")).to eq(written)
      FileUtils.rm_rf(folder)
      expect(check_directory("--directory", folder, "--config", "#{tmpdir}/initializer.rb")).to eq(written)
    end

    it "with another backend is an error" do
      expect(check_directory("--directory", folder, "--backend", "http")).to eq(error("http"))
      expect(check_directory(directory: folder, backend: "parca")).to eq(error("parca"))
      expect(check_directory("--backend", "parca", directory: folder)).to eq(error("parca"))
      expect(Dir.exist?(folder)).to be(false)
    end
  end

  it "tells a directory that can not be" do
    ended = rperf_push("check", "--directory", "/dev/null/profiles", "--backend", "directory")
    expect([ended.status, ended.err]).to match([1, %r{\Afailed: could not create /dev/null/profiles: Not a directory}])
  end

  describe "the way to the server" do
    it "tells a wrong port" do
      ended = check("http://127.0.0.1:#{port = closed_port}")
      expect([ended.status, ended.err]).to match(
        [1, /\Afailed: could not connect to 127.0.0.1:#{port}: Connection refused\nNothing listens there: .*port of server_address/]
      )
    end

    it "tells a name that does not exist" do
      ended = check("http://pyroscope.invalid:4040")
      expect([ended.status, ended.err]).to match([1, /\Afailed: could not resolve host pyroscope.invalid\n.*spelling/])
    end

    it "tells a server that closes without a word" do
      listener = TCPServer.new("127.0.0.1", 0)
      Thread.new { listener.accept.tap { |socket| socket.readpartial(1) }.close }
      ended = check("http://127.0.0.1:#{listener.addr[1]}")
      expect([ended.status, ended.err]).to match([1, /closed the connection.*\nSomething listens there.*https/])
    ensure
      listener.close
    end

    it "tells a server that takes the profile and does not answer" do
      fake_server do |server|
        server.fault(delay: 15)
        ended = check(server.url, upload_timeout: "1.5")
        expect([ended.status, ended.err]).to match([1, /\Anot confirmed: no answer from .* within 1.5 s\n.*upload_timeout/])
      end
    end

    it "tells a proxy that is not there" do
      ended = check("http://pyroscope:4040", proxy: "http://user:Secret@proxy.invalid:3128")
      expect([ended.status, ended.err]).to match([1, /\Afailed: could not resolve the proxy's host\nLook at the option proxy/])
      expect(ended.all).not_to include("Secret")
    end
  end

  describe "a proxy in between" do
    def refusing(status)
      proxy = ScriptedServer.new { |socket| ScriptedServer::Request.read(socket) && socket.write("HTTP/1.1 #{status} No\r\nContent-Length: 0\r\n\r\n") }
      yield proxy.url
    ensure
      proxy&.stop
    end

    it "that wants a password is told, for plain HTTP and for TLS" do
      refusing(407) do |proxy|
        wanted = "The proxy wants a user and a password: proxy = http://user:password@host:port."
        expect(check("http://pyroscope.invalid", proxy:).err).to match(/\Afailed: HTTP 407 .*\n#{wanted}\n\z/)
        expect(check("https://pyroscope.invalid", proxy:).err).to match(/\Afailed: the proxy answered HTTP 407 to CONNECT for pyroscope.invalid.*\n#{wanted}\n\z/)
      end
    end

    it "that does not lead there is told" do
      refusing(503) do |proxy|
        expect(check("https://pyroscope.invalid", proxy:).err)
          .to match(/\Afailed: the proxy answered HTTP 503 to CONNECT for pyroscope.invalid\nThe proxy does not lead to that address: .*no_proxy/)
      end
    end
  end

  describe "TLS" do
    def front(fake_server, **options)
      front = TlsFront.new(URI(fake_server.url).port, **options)
      File.write("#{tmpdir}/ca.pem", front.certificate)
      yield front, "#{tmpdir}/ca.pem"
    ensure
      front&.stop
    end

    it "tells a certificate that signed itself, and how to trust it" do
      fake_server do |server|
        front(server) do |front, ca_file|
          ended = check(front.url)
          expect([ended.status, ended.err]).to match([1, /\Afailed: TLS with .*self.signed.*\nNo authority .*tls_ca_file/])
          expect(check(front.url, tls_ca_file: ca_file).status).to eq(0)
        end
      end
    end

    it "tells a certificate for another name" do
      fake_server do |server|
        front(server, name: "DNS:elsewhere.example") do |front, ca_file|
          ended = check(front.url, tls_ca_file: ca_file)
          expect([ended.status, ended.err]).to match([1, /\Afailed: TLS with .*\nThe server's certificate is for another name/])
        end
      end
    end

    it "tells a certificate that has expired" do
      fake_server do |server|
        front(server, from: Time.now - 7200, to: Time.now - 3600) do |front, ca_file|
          ended = check(front.url, tls_ca_file: ca_file)
          expect([ended.status, ended.err]).to match([1, /\Afailed: TLS with .*expired.*\nThe server's certificate has expired/])
        end
      end
    end

    it "tells plain HTTP where TLS is spoken" do
      fake_server do |server|
        front(server) do |front, _|
          ended = check(front.url.sub("https", "http"))
          expect([ended.status, ended.err]).to match([1, %r{\A(?:failed|not confirmed): .*closed the connection.*\n.*https://}])
        end
      end
    end

    it "tells TLS where plain HTTP is spoken" do
      listener = TCPServer.new("127.0.0.1", 0)
      Thread.new { listener.accept.tap { |socket| socket.write("HTTP/1.1 400 Bad Request\r\n\r\n") }.close }
      expect(check("https://127.0.0.1:#{listener.addr[1]}").err).to match(%r{\Afailed: TLS with .*\nNo TLS is spoken.*http://})
    ensure
      listener.close
    end

    it "tells a file of authorities that is not there" do
      fake_server do |server|
        front(server) do |front, _|
          ended = check(front.url, tls_ca_file: "/nowhere/ca.pem")
          expect([ended.status, ended.err]).to match([1, /\Afailed: TLS with .*\nLook at tls_ca_file/])
        end
      end
    end
  end

  describe "access" do
    it "asks for credentials where there are none, and tells what Grafana Cloud's are" do
      fake_server(basic_auth: "123456:glc_Secret") do |server|
        ended = check(server.url)
        expect(ended.status).to eq(1)
        expect(ended.err).to match(/\Afailed: HTTP 401: .*\nNo credentials are set: .*In Grafana Cloud the user is the number/)
      end
    end

    it "tells credentials that are not accepted, without showing them" do
      fake_server(basic_auth: "123456:glc_Secret") do |server|
        ended = check(server.url, basic_auth_username: "me@example.com", basic_auth_password: "glc_Wrong")
        expect(ended.err).to match(/\Afailed: HTTP 401: .*\nThe server does not accept basic_auth_username and basic_auth_password/)
        expect(ended.all).not_to match(/glc_|me@/)
        ended = check(server.url.sub("//", "//me:glc_Wrong@"))
        expect(ended.err).to match(/\Afailed: HTTP 401: .*\nThe server does not accept the user and password in server_address/)
        expect(ended.all).not_to include("glc_")
        expect(check(server.url, auth_token: "glc_Wrong").all).to match(/does not accept auth_token/).and(satisfy { |text| !text.include?("glc_") })
      end
    end

    it "uses those that are right, from options and from the address" do
      fake_server(basic_auth: "123456:glc_Secret") do |server|
        expect(check(server.url, basic_auth_username: "123456", basic_auth_password: "glc_Secret").status).to eq(0)
        ended = check(server.url.sub("//", "//123456:glc_Secret@"))
        expect(ended.status).to eq(0)
        expect(ended.all).not_to include("glc_Secret")
      end
    end

    it "tells a missing tenant" do
      fake_server(tenants: true) do |server|
        expect(check(server.url).err).to match(/\Afailed: HTTP 401: no org id .*\nThe server serves several tenants: set tenant_id/)
        expect(check(server.url, tenant_id: "shop").status).to eq(0)
      end
    end
  end

  # As Grafana Cloud wants it, with the names that Pyroscope's own client has for it.
  it "goes through TLS with a number for a user and a token for a password" do
    fake_server(basic_auth: "123456:glc_Secret") do |server|
      front = TlsFront.new(URI(server.url).port)
      File.write("#{tmpdir}/ca.pem", front.certificate)
      env = { "PYROSCOPE_SERVER_ADDRESS" => front.url, "PYROSCOPE_BASIC_AUTH_USER" => "123456", "SSL_CERT_FILE" => "#{tmpdir}/ca.pem" }
      expect(rperf_push("check", env: env.merge("PYROSCOPE_BASIC_AUTH_PASSWORD" => "glc_Secret")).status).to eq(0)
      ended = rperf_push("check", env: env.merge("PYROSCOPE_BASIC_AUTH_PASSWORD" => "glc_Wrong"))
      expect([ended.status, ended.err]).to match([1, /\Afailed: HTTP 401: .*\n.* In Grafana Cloud the user is the number/])
      expect(server.received.size).to eq(1)
    ensure
      front&.stop
    end
  end

  describe "Parca" do
    def parca(**options)
      server = FakeParca.new(**options)
      yield server
    ensure
      server&.stop
    end

    it "gets a profile that it survives" do
      parca do |server|
        ended = check(server.url, "--backend", "parca", tags: "env=test")
        expect(ended.status).to eq(0), ended.all
        expect(ended.out).to match(/\Aparca at #{server.url}, .*\nok: delivered in .*\nIn Parca: process_cpu, service_name="shop"/)
        expect(server.accepted.map(&:labels)).to match([include(%w[service_name shop], %w[env test])])
        expect([server.violations, server.crashes]).to eq([[], []])
      end
    end

    it "is told from Pyroscope, and behind a proxy that wants a token" do
      parca(bearer: "secret") do |server|
        expect(check(server.url, "--backend", "parca").err).to match(/\Afailed: HTTP 401: .*\nNo credentials are set: .*auth_token/)
        expect(check(server.url, "--backend", "parca", auth_token: "secret").status).to eq(0)
      end
      parca { |server| expect(check(server.url).err).to match(/\Afailed: HTTP (?:404|501)\b.*\n.*Parca wants backend parca|backend/) }
      fake_server { |server| expect(check(server.url, "--backend", "parca").err).to match(/\Afailed: HTTP 404: .*\n.*look at the path in server_address/) }
    end
  end

  describe "the server's answers" do
    it "tells a wrong path" do
      fake_server(prefix: "/profiles") do |server|
        ended = check(server.url.delete_suffix("/profiles"))
        expect([ended.status, ended.err]).to match([1, /\Afailed: HTTP 404: .*\n.*path in server_address.*pyroscope_ingest/])
      end
    end

    it "tells what the server says of the profile" do
      expect(check_answer(422, "unknown format").err).to match(/\Afailed: HTTP 422: unknown format\n.*backend/)
      expect(check_answer(400, "profile with labels '{}' has label names; limit 30").err).to match(/limit 30\nA series may have 30 labels/)
      expect(check_answer(400, "invalid labels: invalid label name 'a.b'").err).to match(/'a.b'\nServers before Pyroscope 2/)
      expect(check_answer(400, "profile is outside of ingestion window").err).to match(/window\n.*clocks/)
    end

    it "tells what proxies say" do
      expect(check_answer(413).err).to match(/\Afailed: HTTP 413\nA proxy in between .*client_max_body_size/)
      expect(check_answer(415).err).to match(/\Afailed: HTTP 415.*\nA proxy changes the Content-Type/)
      expect(check_answer(502).err).to match(/\Afailed: HTTP 502\nA proxy answers, but the server behind/)
      expect(check_answer(302, "", Location: "https://login.example/").err).to match(/\Afailed: HTTP 302 \(redirects are not followed/)
    end

    it "tells what passes" do
      expect(check_answer(429, "rate limited").err).to match(/\Afailed: HTTP 429: rate limited\nThe server limits/)
      expect(check_answer(503).err).to match(/\Afailed: HTTP 503\n.*not ready/)
      expect(check_answer(500).err).to match(/\Afailed: HTTP 500\nThe server failed/)
      expect(check_answer(504).err).to match(/\Anot confirmed: HTTP 504\n.*may have been stored/)
      expect(check_answer(599).err).to match(/\Afailed: HTTP 599\nThe server failed/)
    end
  end

  describe "settings" do
    it "names each error, in one line" do
      ended = check("http://127.0.0.1:1", frequency: "fast", tags: "a b=c")
      expect([ended.status, ended.out]).to eq([1, ""])
      expect(ended.err).to match(/\Arperf-push: .*FREQUENCY must be an integer.*; tags: "a b" is not a legal name.*\n\z/)
    end

    it "takes them from an initializer, and starts nothing" do
      fake_server do |server|
        File.write("#{tmpdir}/rperf_push.rb", <<~RUBY)
          require "rperf_push"
          RperfPush.configure do |config|
            config.application_name = "from the file"
            config.server_address = "#{server.url}"
          end
          abort "it runs" if RperfPush.running?
        RUBY
        ended = rperf_push("check", "--config", "#{tmpdir}/rperf_push.rb", env: { "RPERF_PUSH_APPLICATION_NAME" => "from the environment" })
        expect([ended.status, ended.out]).to match([0, /application_name from the file/])
        ended = rperf_push("check", "--config", "#{tmpdir}/rperf_push.rb", "--application", "from the call")
        expect(ended.out).to include("application_name from the call")
      end
    end

    it "loads the initializer that the gem brings" do
      ended = rperf_push("check", "--config", File.expand_path("../../config/initializers/rperf_push.rb", __dir__),
                         "--server", "http://127.0.0.1:#{closed_port}")
      expect(ended.err).to include("Connection refused")
    end

    {
      "is not there" => [nil, "no such file"],
      "can not be read as Ruby" => ["if", "could not be loaded: .*SyntaxError"],
      "raises" => ["Shop.application", "could not be loaded: uninitialized constant Shop .*NameError"],
      "configures nothing" => ["1", "does not call RperfPush.configure"]
    }.each do |what, (code, said)|
      it "names an initializer that #{what}" do
        File.write(path = "#{tmpdir}/config.rb", code) if code
        path ||= "/nowhere/config.rb"
        ended = rperf_push("check", "--config", path)
        expect([ended.status, ended.out]).to eq([1, ""])
        expect(ended.err).to match(/\Arperf-push: #{path}:? #{said}.*\n\z/)
      end
    end

    it "takes no argument" do
      expect(rperf_push("check", "twice").to_a).to eq(["", "rperf-push: check takes no argument, got \"twice\"\n", 1])
    end
  end
end
