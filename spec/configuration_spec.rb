# frozen_string_literal: true

require "pathname"
require "rperf_push"
require "stringio"

RSpec.describe RperfPush::Configuration, :interpreted, :text, :short, :quick do
  subject(:configuration) { described_class.new }

  it "has a writer and a reader for every option of the core, and no others" do
    expect(described_class::OPTIONS).to match_array(RperfPush::Native.option_names)
    described_class::OPTIONS.each do |name|
      configuration.public_send(:"#{name}=", "said")
      expect(configuration.public_send(name)).to eq("said")
    end
    expect(configuration.given.keys).to match_array(described_class::OPTIONS)
  end

  it "says nothing of its own" do
    expect(configuration.given).to eq({})
  end

  it "lets tags be filled in place, and takes looking at them for nothing" do
    configuration.tags[:env] = "production"
    configuration.label_deny << "user"
    configuration.label_names["request"] = "request_id"
    configuration.http_headers
    expect(configuration.given).to eq(
      "tags" => { env: "production" },
      "label_deny" => ["user"],
      "label_names" => { "%GVL" => "gvl_state", "%GC" => "gc_phase", "%pid" => "pid", "request" => "request_id" }
    )
    expect(described_class.new.tags).to eq({})
  end

  it "hands on what is empty on purpose" do
    configuration.tags = {}
    expect(configuration.given).to eq("tags" => {})
  end

  it "takes nil for not written" do
    configuration.tenant_id = nil
    expect(configuration.given).to eq({})
  end

  it "shows no credentials" do
    configuration.auth_token = "s3cret"
    configuration.basic_auth_username = "s3cret"
    configuration.basic_auth_password = "s3cret"
    configuration.http_headers = { "X-Key" => "s3cret" }
    configuration.server_address = "https://me:s3cr/et@pyroscope:4040/prefix"
    configuration.proxy = "http://s3cret@proxy:3128"
    configuration.application_name = "shop"
    expect(configuration.inspect).to include("application_name=\"shop\"", "//[hidden]@pyroscope:4040/prefix", "@proxy:3128")
    expect(configuration.inspect).not_to match(/s3cr/)
  end

  it "makes of a Pathname its path, and of a duration its seconds" do
    duration = Class.new(Numeric) { def to_f = 90.0 }.new # as ActiveSupport::Duration is
    configuration.directory = Pathname("tmp/profiles")
    configuration.upload_interval = duration
    configuration.overhead_limit = 1/50r
    expect(configuration.given).to eq("directory" => "tmp/profiles", "upload_interval" => 90.0, "overhead_limit" => 0.02)
  end

  it "takes numbers and words for what is slow" do
    [0.5, 2, :p95, "p95"].zip(["0.5", "2", :p95, "p95"]) do |written, read|
      configuration.slow_requests = written
      expect(configuration.given).to eq("slow_requests" => read)
    end
  end

  it "still refuses what is no option at all" do
    expect { configuration.start_now }.to raise_error(NoMethodError)
    expect(configuration).to respond_to(:frequency=)
  end
end

# What an error, a block and a logger do, without a profiler that would start and stop under the feet of other specs.
RSpec.describe RperfPush, "configuration" do
  before { allow(described_class::Native).to receive(:configure) { |given, texts, logger, known| answer(given, texts, logger, known) } }

  let(:errors_of_core) { [] }
  let(:calls) { [] }
  let(:logger) { instance_double("Logger", info: nil, warn: nil, error: nil) }

  def answer(given, texts, logger, known)
    calls << [given, texts, logger]
    errors_of_core + (given.keys - described_class::Configuration::OPTIONS).map { |name| "unknown option \"#{name}\"" } + known
  end

  it "is true when the core takes it" do
    expect(described_class.configure { |config| config.frequency = 50 }).to be(true)
    expect(described_class.configure!).to be(true)
    expect(calls.first.first).to eq("frequency" => 50)
  end

  it "puts all errors into one line" do
    errors_of_core.push("frequency must be an integer from 1 to 1000, got 0", "directory is missing")
    line = "[rperf-push] not started: frequency must be an integer from 1 to 1000, got 0; directory is missing"
    expect(described_class.configure { |config| config.logger = logger }).to be(false)
    expect(logger).to have_received(:error).once.with(line)
    expect { described_class.configure }.to output("#{line}\n").to_stderr
  end

  it "raises all errors at once with configure!" do
    errors_of_core << "frequency must be an integer from 1 to 1000, got 0"
    expect { described_class.configure! { |config| config.tgas = {} } }.to raise_error(described_class::ConfigurationError) { |error|
      expect(error.errors).to eq(["frequency must be an integer from 1 to 1000, got 0",
                                  "unknown option \"tgas\""])
      expect(error.message).to eq(error.errors.join("\n"))
    }
  end

  it "refuses a logger that can not log, on standard error" do
    expect { expect(described_class.configure { |config| config.logger = "log/shop.log" }).to be(false) }
      .to output("[rperf-push] not started: logger must respond to info, warn and error, or be an IO, got String\n").to_stderr
  end

  it "takes an IO for a logger" do
    errors_of_core << "directory is missing"
    log = StringIO.new
    expect(described_class.configure { |config| config.logger = log }).to be(false)
    expect(log.string).to eq("[rperf-push] not started: directory is missing\n")
  end

  it "survives a logger that fails" do
    errors_of_core << "directory is missing"
    allow(logger).to receive(:error).and_raise(IOError)
    expect(described_class.configure { |config| config.logger = logger }).to be(false)
  end

  it "hands the logger on, by default that of Rails" do
    described_class.configure { |config| config.logger = logger }
    stub_const("Rails", double(logger: :of_rails))
    described_class.configure
    expect(calls.map(&:last)).to eq([logger, :of_rails])
  end

  it "passes through what the block raises" do
    expect { described_class.configure { raise KeyError, "mine" } }.to raise_error(KeyError, "mine")
    expect(calls).to be_empty
  end

  it "lets the block win over the environment, which need not even be right then" do
    stub_const("ENV", { "RPERF_PUSH_FREQUENCY" => "fast", "RPERF_PUSH_MODE" => "cpu" })
    described_class.configure { |config| config.frequency = 50 }
    expect(calls.first[1]).to include("mode" => %w[cpu RPERF_PUSH_MODE])
    expect(calls.first[1]).not_to include("frequency")
  end
end
