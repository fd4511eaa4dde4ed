# frozen_string_literal: true

require "json"
require "logger"
require "rperf_push"
require "yaml"

# What a page tells people to write is written, and accepted.
RSpec.describe "The page", :once do
  page = ->(name) { File.read(File.expand_path("../docs/#{name}.md", __dir__)) }
  blocks = ->(text, language) { text.scan(/^```#{language}\n(.*?)^```/m).flatten }

  # @return [Hash{String => Object}] what the core makes of it
  def settings_from(env)
    code = <<~RUBY
      RperfPush.configure! { |config| config.enabled = false }
      given, texts = RperfPush::Configuration.new.over(RperfPush::Environment.new(ENV).texts)
      puts JSON.generate(texts.transform_values(&:first))
    RUBY
    silence = ENV.keys.grep(/\A(?:RPERF_PUSH|PYROSCOPE|OTEL)_/).to_h { |name| [name, nil] }
    out, err, status = run_ruby(code, env: silence.merge(env), arguments: %w[-r json])
    expect([err, status.success?]).to eq(["", true])
    JSON.parse(out)
  end

  # Assignments of variables; an option that does not exist would be passed over in silence.
  def expect_known(env)
    names = env.keys.grep(/\ARPERF_PUSH_/).map { |name| name.delete_prefix("RPERF_PUSH_").downcase }
    expect(RperfPush::Configuration::OPTIONS).to include(*names)
  end

  describe "docs/production.md" do
    text = page.("production")

    it "sets variables that are options, to values that are accepted" do
      named = text.scan(/\b(RPERF_PUSH_\w+)/).flatten.uniq.to_h { |name| [name, ""] }
      expect_known(named)
      environments = (blocks.(text, "sh") + blocks.(text, "ini")).map { |block| block.scan(/^(?:Environment=)?(RPERF_PUSH_\w+)=(.*)$/).to_h }
      expect(environments.map(&:size)).to all(be >= 4)
      environments.each do |env|
        env["RPERF_PUSH_SPOOL_DIRECTORY"] &&= tmpdir
        env["RPERF_PUSH_CONTROL_SOCKET"] &&= tmpdir
        expect(settings_from(env)).to include(*env.keys.map { |name| name.delete_prefix("RPERF_PUSH_").downcase })
      end
    end

    it "makes tags of what Kubernetes says of a pod" do
      rows = YAML.safe_load(blocks.(text, "yaml").first).fetch("env")
      fields = rows.to_h { |row| [row["name"], row["value"] || row.dig("valueFrom", "fieldRef", "fieldPath")[/\w+(?='\]\z|\z)/]] }
      env = fields.transform_values { |value| value.gsub(/\$\((\w+)\)/) { fields.fetch($1) } }
      expect(settings_from(env.select { |name, _| name.start_with?("RPERF_PUSH_") }).fetch("tags"))
        .to eq("namespace=namespace,pod=name,node=nodeName,version=version")
    end

    it "names numbers that `stats` has, and threads that a process has" do
      named = text[/^## What it costs.*?(?=^## )/m].scan(/^\|.*\| ([^|]+) \|$/).flatten.flat_map { |cell| cell.scan(/`([^`]+)`/) }.flatten
      threads, numbers = named.partition { |name| name.start_with?("rpp-") }
      expect(numbers.size).to be >= 6
      expect(RperfPush.stats.keys.map(&:to_s)).to include(*numbers)
      out, = run_ruby(<<~RUBY)
        RperfPush.configure! { |config| config.directory = #{tmpdir.inspect} }
        puts Dir["/proc/self/task/*/comm"].map { |path| File.read(path).chomp }.grep(/^rpp-/)
      RUBY
      expect(out.split).to match_array(threads)
    end

    it "tells dynos apart by what it puts before the command" do
      setting = text[/`(RPERF_PUSH_TAGS=\S+)` before the command/, 1]
      out, = run_program(["sh", "-c", "#{setting} #{RbConfig.ruby} -e 'print ENV.fetch(\"RPERF_PUSH_TAGS\")'"], env: { "DYNO" => "web.2" })
      expect(settings_from("RPERF_PUSH_TAGS" => out).fetch("tags")).to eq("dyno=web.2")
    end

    it "has a folder of sockets that the command reads, too" do
      code = <<~RUBY
        RperfPush.configure! { |config| config.directory = ENV.fetch("FOLDER") }
        ps = ->(place) { IO.popen({ "RPERF_PUSH_CONTROL_SOCKET" => place }, [RbConfig.ruby, "-I", #{RubyProgram::LIB.dump}, #{CommandLine::EXECUTABLE.dump}, "ps"], &:read) }
        puts [ENV.fetch("FOLDER"), ENV.fetch("OTHER")].map { |place| ps.call(place).include?(Process.pid.to_s) }.inspect
      RUBY
      other = "#{tmpdir}/other".tap { |path| Dir.mkdir(path, 0o700) }
      out, err, = run_ruby(code, env: { "RPERF_PUSH_CONTROL_SOCKET" => tmpdir, "FOLDER" => tmpdir, "OTHER" => other })
      expect([out, err]).to eq(["[true, false]\n", ""])
    end

    it "has Ruby that works" do
      shown = blocks.(text, "ruby")
      expect(shown.size).to eq(2)
      shown.each do |code|
        _, err, status = run_ruby(code.sub("|config|\n", "|config|\nconfig.enabled = false\n").sub("RperfPush.configure", "RperfPush.configure!"))
        expect([err, status.success?]).to eq(["", true])
      end
    end
  end

  describe "docs/labels.md" do
    text = page.("labels")
    shown = blocks.(text, "ruby")

    define_method(:run_there) do |code|
      out, err, status = run_ruby(code, gems: true, env: { "RPERF_PUSH_DIRECTORY" => tmpdir })
      expect([err, status.success?]).to eq(["", true])
      JSON.parse(out.lines.last)
    end

    it "labels as it says" do
      expect(shown.first).to end_with("RperfPush.labels                          # => {}\n")
      seen = run_there(<<~RUBY)
        require "json"
        RperfPush.configure!
        def import = $seen = RperfPush.labels
        #{shown.first}
        puts JSON.generate([$seen, RperfPush.labels])
      RUBY
      expect(seen).to eq([{ "tenant" => "acme", "phase" => "import" }, {}])
    end

    it "names requests with each option of the middleware" do
      options = text[/^## Rack.*?(?=^## )/m].scan(/^\| `(label\w*: .*?)` \|/).flatten
      expect(options.size).to eq(3)
      expect(shown[1]).to end_with("use RperfPush::RackMiddleware\n")
      uses = [nil, *options].map { |option| [shown[1].chomp, *option&.sub("{ ... }", '{ "named " + env["PATH_INFO"] }')].join(", ") }
      seen = run_there(<<~RUBY)
        require "json"
        require "rack"
        RperfPush.configure!
        seen = #{uses.inspect}.map do |use|
          labels = nil
          app = Rack::Builder.new { eval(use); run ->(env) { labels = RperfPush.labels; [200, {}, []] } }
          Rack::MockRequest.new(app.to_app).get("/users/7")
          labels
        end
        puts JSON.generate(seen)
      RUBY
      expect(seen).to eq([{ "endpoint" => "GET /users/:id" }, { "route" => "GET /users/:id" }, { "endpoint" => "GET /users/7" }, { "endpoint" => "named /users/7" }])
    end

    it "has settings that are accepted, and features that load beside what they are for" do
      features = text.scan(%r{require "(rperf_push/\w+)"}).flatten.uniq
      expect(features.size).to be >= 6
      worked = run_there(<<~RUBY)
        require "json"
        require "sidekiq"
        require "sidekiq/cli"
        require "active_job"
        #{features.map { |feature| "require #{feature.inspect}" }.join("\n")}
        #{shown[2].sub("configure", "configure!")}
        #{shown[3]}
        class ApplicationJob < ActiveJob::Base
          #{text[/`(include RperfPush::\w+)`/, 1]}
        end
        puts JSON.generate([RperfPush.running?, Sidekiq.default_configuration.server_middleware.map { |entry| entry.klass.name }])
      RUBY
      expect(worked.first).to be(true)
      expect(worked.last).to include("RperfPush::SidekiqMiddleware")
      expect(shown.size).to eq(4)
    end
  end

  describe "docs/from_pyroscope_gem.md" do
    rows = page.("from_pyroscope_gem").scan(/^\|.*? \| (.*) \|$/).flatten.map { |cell| cell.scan(/`([^`]+)`/).flatten.map { |code| code.gsub("\\|", "|") } }

    it "sets options that are there, to values that are accepted" do
      options = rows.map { |codes| codes.grep(/\Aconfig\./) }.reject(&:empty?)
      expect(options.size).to be >= 10
      options.each do |codes|
        expect { RperfPush.configure! { |config| config.enabled = false; eval(codes.join("\n"), binding, "docs/from_pyroscope_gem.md") } }.not_to raise_error, codes.join
      end
    end

    it "calls methods that are there" do
      calls = rows.flatten.grep(/\ARperfPush\./)
      expect(calls.size).to be >= 8
      worked = 0
      work = -> { worked += 1 }
      calls.each { |code| expect { eval(code.gsub("{ work }", "{ work.call }"), binding, "docs/from_pyroscope_gem.md") }.not_to raise_error, code }
      expect(worked).to eq(1)
    end

    it "has an example that works" do
      code = blocks.(page.("from_pyroscope_gem"), "ruby").first
      eval(code.sub(/^end/, "  config.enabled = false\nend").sub("RperfPush.configure", "RperfPush.configure!"), binding, "docs/from_pyroscope_gem.md")
    end
  end
end
