# frozen_string_literal: true

require "json"
require_relative "../support/pyroscope_client"
require_relative "../support/fake_pyroscope"

# What a program calls its samples, and what of it a server shows: servers that take any name, and those that refuse the
# whole profile for one that they do not like.
RSpec.describe "Labels on their way to Pyroscope", :once, :waiting, :text, :short, :quick do
  include RubyProgram

  program = <<~RUBY
    # encoding: utf-8
    def work = sleep(0.03) # for longer than a period, so that it is an event of its own and not left to chance
    def labeled(**labels) = RperfPush.label(**labels) { work }
    def many = RperfPush.label(**(10..49).to_h { |number| [:"many_\#{number}", "x"] }) { work }

    RperfPush.configure! do |config|
      config.application_name = "shop"
      config.server_address = ENV.fetch("SERVER")
      config.upload_interval = 1800
      config.tags = { env: "test" }
      config.label_names = { "%GVL" => "gvl_state", "%GC" => "gc_phase", "request.kind" => "kind" }
      config.label_deny = %w[user_id made_illegal at-home]
      config.max_label_values = 3
    end
    labeled("a.b": "dotted", "größe": "XL", "9lives": "cat", "42": "answer", "%load": "1")
    labeled("a.b": "first", "a-b": "second", a_b: "third")
    labeled("__name__": "mine", "__delta__": "true", "__meta": "x", "": "empty name", empty: "")
    labeled("request.kind": "search", user_id: "7", "made-illegal": "8", "at-home": "9")
    labeled(env: "sample", service_name: "sample", thread_seq: "text")
    labeled(long: "é" * 3000, "#{"n" * 300}": "long name", broken: "a\\xFFb")
    5.times { |number| labeled(item: "item \#{number}") }
    RperfPush.label(endpoint: "GET /") { sleep 0.05 }
    RperfPush.flush(timeout: 20)
    2.times do
      many
      RperfPush.flush(timeout: 20)
    end
    RperfPush.shutdown
    puts JSON.generate(RperfPush.stats)
  RUBY

  %i[v1 v2].each do |rules|
    context "with the rules of #{rules}" do
      before(:all) do
        @fake_server = FakePyroscope.new(rules:)
        out, @log, status = Class.new { include RubyProgram }.new.run_ruby(program, env: { "SERVER" => @fake_server.url }, arguments: ["-rjson"])
        raise @log unless status.success?

        @stats = JSON.parse(out)
      end

      after(:all) { @fake_server&.stop }

      let(:client) { PyroscopeClient.new(@fake_server.url) }
      let(:names) { client.label_names("{}").grep_v(/\A__|\Amany_/) }

      def values(name) = client.label_values(name, "{}")

      it "are taken, each time" do
        expect(@fake_server.received.map(&:status)).to all(eq(200)), @fake_server.received.map(&:message).inspect
        expect(@fake_server.violations).to eq([])
        expect(@fake_server.received.size).to be >= 3
        expect(@stats).to include("payloads_delivered" => @fake_server.received.size, "payloads_dropped_rejected" => 0)
      end

      it "have names that are legal everywhere, and no other" do
        expect(names - ["gc_phase"]).to contain_exactly("service_name", "env", "gvl_state", "a_b", "gr____e", "_9lives", "_42", "_load", "kind", "item",
                                                        "endpoint", "long", "n" * 200, "broken")
        expect(names).to all match(/\A[a-zA-Z_][a-zA-Z0-9_]*\z/)
      end

      it "are renamed, or kept at home, as the settings say" do
        expect(values("kind")).to eq(["search"])
        expect(client.label_names("{}")).not_to include("user_id", "made_illegal", "at_home", "request_kind", "empty", "__meta")
      end

      it "are of one value each, where several become one name: the first by name" do
        expect(values("a_b")).to contain_exactly("dotted", "second")
      end

      it "never change what the series is" do
        expect([values("env"), values("service_name"), values("__name__")]).to eq([["test"], ["shop"], ["process_cpu"]])
        expect(client.profile_types).to contain_exactly(PyroscopeClient::CPU, PyroscopeClient::WALL)
      end

      it "have so many values, and then read other" do
        expect(values("item")).to contain_exactly("item 0", "item 1", "item 2", "other")
      end

      it "are cut to 200 bytes at a character, and valid UTF-8" do
        expect([values("long"), values("broken"), values("n" * 200)]).to eq([["é" * 100], ["a?b"], ["long name"]])
      end

      it "say what a thread waited for" do
        expect(client.label_values("gvl_state", '{endpoint="GET /"}')).to include("blocked")
      end

      it "are numbers where they were numbers, and no series" do
        labels = @fake_server.accepted.flat_map { |one| one.profile.sample.flat_map { |sample| sample.label.map { |label| [one.profile.string_table[label.key], label] } } }
        threads = labels.filter_map { |key, label| label if key == "thread_seq" }
        expect(threads).not_to be_empty
        expect(threads).to all(have_attributes(str: 0, num: be_positive))
      end

      it "are at most 30 in all: the last are left out, counted, and told once" do
        many = client.series("{many_10=\"x\"}").map { |labels| labels.keys.reject { |name| name.start_with?("__") } }
        expect(many.map(&:size).max).to eq(30 - 2) # __name__ and __delta__
        expect(many.flatten).to include("gvl_state", "many_10", "many_33").and(satisfy { |all| !all.include?("many_49") })
        cut = @fake_server.accepted.drop(1).sum { |one| one.profile.sample.count { |sample| sample.label.size > 20 } }
        expect(@stats["samples_labels_cut"]).to eq(cut).and be_positive
        expect(@log.scan("more labels than a series may have names").size).to eq(1)
      end
    end
  end
end
