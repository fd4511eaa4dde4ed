# frozen_string_literal: true

require "rbs"
require "rperf_push"
require "rperf_push/rack"
require "rperf_push/viewer"
require "rperf_push/cli"

# sig/ is valid, says all that is there, and is true of calls that are made.
RSpec.describe "The signatures", :once do
  folder = File.expand_path("../sig", __dir__)

  let(:builder) do
    loader = RBS::EnvironmentLoader.new
    loader.add(path: Pathname(folder))
    RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
  end

  # Calls each verb once, in as many of its forms as there are.
  calls = <<~'RUBY'
    require "rperf_push/rack"
    require "rperf_push/viewer"
    require "rperf_push/cli"
    folder = ARGV.fetch(0)
    RperfPush.configure do |config|
      config.backend = [:directory]
      config.directory = folder
      config.tags = { region: "here" }
      config.label_deny = ["secret"]
      config.overhead_limit = 0.05
      config.inspect
    end
    RperfPush.configure! { |config| config.backend, config.directory = :directory, folder }
    RperfPush.running?
    RperfPush.stats
    RperfPush.label(step: 1)
    RperfPush.label(task: "one") { RperfPush.labels }
    RperfPush.declare(:bytes_sent, unit: "bytes")
    RperfPush.sample
    RperfPush.sample(2, name: :bytes_sent, endpoint: "GET /")
    RperfPush.flush(timeout: 5)
    RperfPush.start(frequency: 100, mode: %i[cpu wall]) { nil }
    RperfPush.start(mode: :wall, lines: true, aggregate: false, defer: true, engine: :safepoint)
    RperfPush.profile(part: "a") { 1 }
    RperfPush.snapshot
    RperfPush.snapshot(clear: true)
    2.times { RperfPush.stop }
    tree = RperfPush.trace(mode: %i[wall alloc]) { [1].each { |one| one.to_s } }[:tree]
    tree.allocations?
    [*tree.nodes, *tree.methods, *tree.methods.flat_map(&:callees)].each(&:allocations)
    RperfPush::RackMiddleware.new(->(_) { [200, {}, []] }, label: :raw).call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" })
    RperfPush::RackMiddleware.new(->(_) { [200, {}, []] }, label_key: :route, label: ->(_) { "x" }).call({})
    viewer = RperfPush::Viewer.new(nil, path: "", max_snapshots: 2, allow: ->(_) { true })
    viewer.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/profiles.json" })
    RperfPush::Viewer.instance&.take_snapshot!
    viewer.add_snapshot({ mode: :cpu, aggregated_samples: [] })
    begin
      RperfPush.configure! { |config| config.frequency = -1 }
    rescue RperfPush::ConfigurationError => e
      e.errors
    end
    RperfPush::CLI.run(["--version"])
    RperfPush.shutdown(timeout: 1)
    RperfPush.shutdown
  RUBY

  # Public to the gem's own files only.
  let(:internal) { %i[given over defaults log own_errors usable_logger command help in_utf8 parsing reason begin_in_child follow] }

  def rbs(*arguments) = run_program([Gem.bin_path("rbs", "rbs"), *arguments].unshift(RbConfig.ruby))

  # Each call of a method that has a signature is held against it.
  define_method(:run_under) do |signatures|
    env = { "RBS_TEST_TARGET" => "RperfPush,RperfPush::*", "RBS_TEST_OPT" => "-I #{signatures}", "RBS_TEST_RAISE" => "true",
            "RBS_TEST_LOGLEVEL" => "fatal" }
    File.write("#{tmpdir}/calls.rb", calls)
    run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rbs/test/setup", "-r", "rperf_push", "#{tmpdir}/calls.rb", tmpdir],
                env:)
  end

  def declared(methods, name) = methods.select { |_, method| method.defs.any? { |one| one.implemented_in&.to_s == name } }.keys

  it "are valid" do
    out, err, status = rbs("-I", folder, "validate")
    expect(status).to be_success, out + err
  end

  [RperfPush, RperfPush::CLI].each do |mod|
    it "have every method of #{mod}, and no other" do
      methods = builder.build_singleton(RBS::TypeName.parse("::#{mod}")).methods
      expect(declared(methods, "::#{mod}")).to match_array(mod.singleton_methods(false) - internal)
    end
  end

  tree = RperfPush::CallTree
  [RperfPush::Configuration, RperfPush::ConfigurationError, RperfPush::RackMiddleware, RperfPush::Viewer,
   tree, tree::ThreadRoot, tree::MethodInfo, tree::Relation, tree::Node].each do |klass|
    it "have every method of #{klass}, and no other" do
      methods = builder.build_instance(RBS::TypeName.parse("::#{klass}")).methods
      expect(declared(methods, "::#{klass}") - [:initialize]).to match_array(klass.public_instance_methods(false) - internal)
    end
  end

  it "hold for calls that are made" do
    _, err, status = run_under(folder)
    expect([status.exitstatus, err]).to match([0, /frequency must be an integer|\A\z/])
  end

  it "are looked at in each call: a wrong one is found" do
    wrong = File.read("#{folder}/rperf_push.rbs").sub("def self.running?: () -> bool", "def self.running?: () -> Integer")
    Dir.mkdir("#{tmpdir}/sig")
    File.write("#{tmpdir}/sig/rperf_push.rbs", wrong)
    _, err, status = run_under("#{tmpdir}/sig")
    expect(status).not_to be_success
    expect(err).to match(/TypeError: \[RperfPush\.running\?\].*ReturnTypeError/)
  end
end
