# frozen_string_literal: true

require "rperf_push"
require "json"

RSpec.describe RperfPush::Environment, :interpreted, :text, :short, :quick do
  def texts(variables = {})
    described_class.new(variables).texts
  end

  def text(option, variables)
    texts(variables)[option]&.first
  end

  it "has a variable for every option" do
    variables = RperfPush::Configuration::OPTIONS.to_h { |option| ["RPERF_PUSH_#{option.upcase}", "of #{option}"] }
    expect(texts(variables)).to eq(
      RperfPush::Configuration::OPTIONS.to_h { |option| [option, ["of #{option}", "RPERF_PUSH_#{option.upcase}"]] }
    )
  end

  it "names variables that look like ours and that nothing reads, with the nearest that exists" do
    wrong = { "RPERF_PUSH_SPOOL_DIR" => "/x", "RPERF_PUSH_FREQENCY" => "50", "RPERF_PUSH_\e[31m" => "", "RPERF_PUSHED" => "1", "PATH" => "" }
    expect(described_class.new(wrong).misspelt).to eq(
      ['RPERF_PUSH_\u001B[31m is no setting', "RPERF_PUSH_FREQENCY is no setting (did you mean RPERF_PUSH_FREQUENCY?)",
       "RPERF_PUSH_SPOOL_DIR is no setting (did you mean RPERF_PUSH_SPOOL_DIRECTORY?)"]
    )
  end

  it "knows every variable that the code reads, and those of all options" do
    root = File.expand_path("..", __dir__)
    files = Dir["#{root}/{lib,exe,ext/rperf_push}/**/*"].select { |path| File.file?(path) && !path.match?(/\.(?:so|o|bundle)\z/) }
    read = files.flat_map { |path| File.binread(path).scan(/\bRPERF_PUSH_[A-Z][A-Z_]*[A-Z]\b/) }.uniq - ["RPERF_PUSH_H"]
    options = RperfPush::Native.option_names.map { |name| "RPERF_PUSH_#{name.upcase}" }
    expect(read.size).to be > 10
    expect(described_class.new((read + options).to_h { |name| [name, "1"] }).misspelt).to eq([])
  end

  it "warns of them once, at the start, wherever it logs" do
    code = 'require "logger"; RperfPush.configure { |config| config.server_address = "http://127.0.0.1:9"; config.logger = Logger.new($stdout) if ENV["LOGGED"] }; Process.wait(fork { RperfPush.label(a: 1) { } })'
    env = { "RPERF_PUSH_FREQENCY" => "50", "RPERF_PUSH_TMPDIR" => tmpdir }
    [[nil, 1], ["yes", 0]].each do |logged, place|
      ended = run_ruby(code, env: { **env, "LOGGED" => logged })
      expect(ended[place].scan(/RPERF_PUSH_\w+ is no setting.*/)).to eq(["RPERF_PUSH_FREQENCY is no setting (did you mean RPERF_PUSH_FREQUENCY?)"])
    end
  end

  it "takes an empty variable for none" do
    expect(texts("RPERF_PUSH_FREQUENCY" => " ")).not_to include("frequency")
  end

  it "reads what Pyroscope's client reads" do
    expect(texts(
      "PYROSCOPE_SERVER_ADDRESS" => "http://pyroscope:4040", "PYROSCOPE_APPLICATION_NAME" => "shop",
      "PYROSCOPE_BASIC_AUTH_USER" => "me", "PYROSCOPE_BASIC_AUTH_PASSWORD" => "secret", "PYROSCOPE_AUTH_TOKEN" => "token",
      "PYROSCOPE_TENANT_ID" => "acme", "PYROSCOPE_LABELS" => "env=production,region=eu",
      "PYROSCOPE_HTTP_HEADERS" => '{"X-A":"b"}', "PYROSCOPE_UPLOAD_INTERVAL" => "15s"
    ).transform_values(&:first)).to eq(
      "server_address" => "http://pyroscope:4040", "application_name" => "shop", "basic_auth_username" => "me",
      "basic_auth_password" => "secret", "auth_token" => "token", "tenant_id" => "acme",
      "tags" => "env=production,region=eu", "http_headers" => '{"X-A":"b"}', "upload_interval" => "15"
    )
  end

  it "prefers RPERF_PUSH_ to PYROSCOPE_ to OTEL_" do
    variables = { "OTEL_RESOURCE_ATTRIBUTES" => "service.name=d,a=1" }
    expect(text("application_name", variables)).to eq("d")
    variables["OTEL_SERVICE_NAME"] = "c"
    expect(text("application_name", variables)).to eq("c")
    variables.merge!("PYROSCOPE_APPLICATION_NAME" => "b", "PYROSCOPE_LABELS" => "a=2")
    expect(text("application_name", variables)).to eq("b")
    expect(text("tags", variables)).to eq("a=2")
    variables["RPERF_PUSH_APPLICATION_NAME"] = "a"
    expect(texts(variables)["application_name"]).to eq(%w[a RPERF_PUSH_APPLICATION_NAME])
  end

  { "10s" => "10", "1m30s" => "90", "500ms" => "0.5", "1h" => "3600", "1.5s" => "1.5", "20" => "20", "100s" => "100",
    "soon" => "soon", "10 s" => "10 s", "\xFFs" => "\xFFs" }.each do |written, read|
    it "reads an interval of #{written.inspect} as #{read.inspect}" do
      expect(text("upload_interval", "PYROSCOPE_UPLOAD_INTERVAL" => written)).to eq(read)
    end
  end

  it "makes tags of resource attributes, and leaves what is malformed" do
    tags = text("tags", "OTEL_RESOURCE_ATTRIBUTES" => "service.name=shop,deployment.environment=production, k8s.pod-name = web-1 ," \
                                                      "9lives=cat,note=a%2Cb%3Dc,caf%C3%A9=%C3%BC,bad,=x,y=,__name__=z,bytes=%FF")
    expect(JSON.parse(tags)).to eq(
      "deployment_environment" => "production", "k8s_pod_name" => "web-1", "_9lives" => "cat", "note" => "a,b=c",
      "caf_" => "ü", "bytes" => "?"
    )
    expect(texts("OTEL_RESOURCE_ATTRIBUTES" => "service.name=shop")).not_to include("tags")
  end

  describe "the name of an application that has none" do
    around do |example|
      title = $PROGRAM_NAME
      arguments = ARGV.dup
      example.run
    ensure
      $PROGRAM_NAME = title
      ARGV.replace(arguments)
    end

    { "-e" => "ruby", "-" => "ruby", "" => "ruby", "/srv/shop/bin/import.rb" => "import", "sidekiq 8.0 shop [1 of 5 busy]" => "sidekiq",
      "puma: cluster worker 0: 42 [shop]" => "puma" }.each do |title, name|
      it "is #{name} for #{title.inspect}" do
        $PROGRAM_NAME = title
        expect(texts["application_name"]).to eq([name, "the program's name"])
      end
    end

    { %w[exec puma -C config/puma.rb] => "puma", %w[exec --gemfile=Gemfile ./bin/import.rb all] => "import", %w[install] => "bundle",
      %w[exec] => "bundle" }.each do |arguments, name|
      it "is #{name} while Bundler loads it for `bundle #{arguments.join(" ")}`" do
        $PROGRAM_NAME = "/usr/bin/bundle"
        ARGV.replace(arguments)
        expect(texts["application_name"]).to eq([name, "the program's name"])
      end
    end
  end
end
