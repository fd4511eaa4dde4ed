# frozen_string_literal: true

require "json"
require "net/http"
require "open3"
require_relative "../support/bookshop"
require_relative "../support/pprof_profile"
require_relative "../support/fake_pyroscope"

# Samples of a trace, by the real SDK.
RSpec.describe "rperf_push/opentelemetry", :once, :waiting do
  # Each span as a line of JSON: name, id, parent, attributes.
  exporter = <<~'RUBY'
    require "json"
    require "opentelemetry/sdk"
    class LineExporter
      def initialize(path) = @path = path
      def export(spans, timeout: nil)
        lines = spans.map { |span| JSON.generate([span.name, span.hex_span_id, span.hex_parent_span_id, span.attributes]) + "\n" }
        File.open(@path, "a") { |file| file.write(lines.join) }
        OpenTelemetry::SDK::Trace::Export::SUCCESS
      end
      def force_flush(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
      def shutdown(timeout: nil) = OpenTelemetry::SDK::Trace::Export::SUCCESS
    end
    def trace_to(path)
      OpenTelemetry::SDK.configure do |config|
        config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(LineExporter.new(path)))
        yield config if block_given?
      end
    end
  RUBY

  attribute = "pyroscope.profile.id"
  span_class = Struct.new(:name, :id, :parent, :attributes)
  define_method(:spans) { File.readlines("#{tmpdir}/spans").map { |line| span_class.new(*JSON.parse(line)) } }

  define_method(:labels_in) do |code, env: { "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => tmpdir }|
    out, err, status = run_ruby(<<~RUBY, env:, gems: true, arguments: %w[-w])
      #{exporter}
      def see = RperfPush.labels[:span_id]
      def id(span) = span.context.hex_span_id
      SPANS = #{tmpdir.dump} + "/spans"
      #{code}
    RUBY
    expect([err.lines.grep(/rperf|-e:/), status]).to match([[], be_success])
    JSON.parse(out.lines.last)
  end

  it "labels what runs in the current span with the local root's id, in each fiber and thread that the context comes to" do
    root, *seen = labels_in(<<~RUBY)
      require "rperf_push/opentelemetry"
      RperfPush.configure!
      trace_to(SPANS)
      tracer = OpenTelemetry.tracer_provider.tracer("spec")
      answer = []
      waiting = Thread::Queue.new
      pool = Thread.new { 2.times { waiting.pop.call } }   # born outside of any span
      tracer.in_span("root") do |root|
        answer << id(root) << see
        tracer.in_span("child") do
          answer << see
          context = OpenTelemetry::Context.current
          done = Thread::Queue.new
          waiting << -> { OpenTelemetry::Context.with_current(context) { tracer.in_span("there") { done << see } } }
          answer << done.pop
          answer << Fiber.new { OpenTelemetry::Context.with_current(context) { tracer.in_span("elsewhere") { see } } }.resume
        end
        answer << see
      end
      waiting << -> { answer << see }
      pool.join
      puts JSON.generate(answer << see)
    RUBY
    expect(seen).to eq([root, root, root, root, root, nil, nil])
    expect(spans.map { |span| [span.name, span.attributes[attribute]] }.to_h)
      .to eq("there" => nil, "elsewhere" => nil, "child" => nil, "root" => root)
  end

  it "follows the context, not starts and ends: what is not current, not recorded, or ends elsewhere, leaves nothing behind" do
    root, inner, *seen = labels_in(<<~RUBY)
      RperfPush.configure!
      trace_to(SPANS)
      require "rperf_push/opentelemetry"   # after the SDK
      tracer = OpenTelemetry.tracer_provider.tracer("spec")
      answer = []
      tracer.in_span("root") do |root|
        inner = tracer.start_root_span("a trace of its own")
        answer << id(root) << id(inner) << see
        OpenTelemetry::Trace.with_span(inner) { answer << see }
        Thread.new { inner.finish }.join
        answer << see
        OpenTelemetry::Common::Utilities.untraced { tracer.in_span("dark") { answer << see } }
        answer << see
      end
      begin
        tracer.in_span("fails") { raise "on purpose" }
      rescue RuntimeError
        answer << see
      end
      never_detached = OpenTelemetry::Trace.context_with_span(tracer.start_root_span("lost"))
      RperfPush.label(request: "1") { OpenTelemetry::Context.attach(never_detached) }
      answer << see
      OpenTelemetry::Context.clear
      puts JSON.generate(answer << see)
    RUBY
    expect(seen).to eq([root, inner, root, nil, root, nil, nil, nil])
  end

  it "is the remote parent's child, and a root here" do
    own, parent, label = labels_in(<<~RUBY)
      require "rperf_push/opentelemetry"
      RperfPush.configure!
      trace_to(SPANS)
      carrier = { "traceparent" => "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }
      context = OpenTelemetry.propagation.extract(carrier)
      tracer = OpenTelemetry.tracer_provider.tracer("spec")
      span = tracer.start_span("server", with_parent: context)
      label = OpenTelemetry::Trace.with_span(span) { tracer.in_span("below") { see } }
      span.finish
      puts JSON.generate([id(span), span.to_span_data.hex_parent_span_id, label])
    RUBY
    expect([parent, label]).to eq(["b7ad6b7169203331", own])
    expect(spans.find { |span| span.name == "server" }.attributes).to eq(attribute => own)
  end

  it "leaves spans and labels alone where nothing is profiled" do
    expect(labels_in(<<~RUBY, env: {})).to eq([nil, nil])
      require "rperf_push/opentelemetry"
      trace_to(SPANS)
      inside = OpenTelemetry.tracer_provider.tracer("spec").in_span("root") { see }
      puts JSON.generate([inside, see])
    RUBY
    expect(spans.map(&:attributes)).to eq([{}])
  end

  it "sends samples under the request's span, on a Puma cluster with the Rails instrumentation" do
    folder = Dir.mktmpdir("bookshop-", tmpdir)
    File.write("#{tmpdir}/config.ru", <<~RUBY)
      require "#{tmpdir}/traces"
      run Rails.application
    RUBY
    File.write("#{tmpdir}/traces.rb", <<~RUBY)
      require "#{Bookshop::ROOT}/config/application"
      require "opentelemetry-instrumentation-rails"
      require "rperf_push/opentelemetry"
      #{exporter}
      Bookshop::Application.initializer("traces", before: :load_config_initializers) do
        trace_to("#{tmpdir}/spans") { |config| config.use_all }
      end
      require "#{Bookshop::ROOT}/config/environment"
    RUBY
    fake_server = FakePyroscope.new
    shop = Bookshop.new(folder, "RPERF_PUSH_SERVER_ADDRESS" => fake_server.url, "RPERF_PUSH_UPLOAD_INTERVAL" => "1")
    seen = nil
    answer = lambda do |url, headers = {}|
      JSON.parse(Net::HTTP.get(URI("#{url}/labels"), headers))["labels"]["span_id"]
    end
    shop.serve(command: [RbConfig.ruby, "-S", "puma", "-C", "config/puma.rb", "#{tmpdir}/config.ru"]) do |url|
      seen = Array.new(4) { answer.(url) }
      expect(answer.(url, "traceparent" => "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")).to be_nil
      120.times { |number| Net::HTTP.get(URI("#{url}/books/#{number + 1}/x")) }
    end
    roots = spans.select { |span| span.attributes.key?("http.request.method") }.to_h { |span| [span.id, span] }
    expect(roots.values.map { |span| span.attributes[attribute] }).to eq(roots.keys)
    expect(seen.map { |id| roots.fetch(id).attributes["http.route"] }).to all(start_with("/labels"))
    expect(spans.reject { |span| roots.key?(span.id) }.map { |span| span.attributes[attribute] }.compact).to eq([])
    samples = fake_server.accepted.flat_map { |received| PprofProfile.from_message(received.profile).samples }
    under = samples.filter_map { |sample| sample.labels.values_at("span_id", "endpoint") if sample.labels["span_id"] }
    expect(under.map(&:first).uniq - roots.keys).to eq([])
    # Samples may be taken before the router has spoken, and after.
    expect(under.map(&:last).uniq).to include("GET /books/:id(/:title)")
  ensure
    fake_server&.stop
  end
end
