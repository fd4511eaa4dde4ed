# frozen_string_literal: true

require "rperf_push"

# What RUBYOPT loads comes before Bundler. Whatever it loads of a gem that comes with Ruby, Bundler cannot load in another version.
RSpec.describe "A program that is profiled from outside", :once, :waiting do
  include CommandLine

  # Each way to get into a program without a change to it: the arguments of the command, and what the environment says.
  ways = {
    "record" => [%w[record -o OUT], {}],
    "record, below another program" => [%w[record -o OUT sh -c] << '"$0" "$@"; true', {}],
    "trace" => [%w[trace -o OUT], {}],
    "run" => [%w[run --directory FOLDER], {
      "RPERF_PUSH_TAGS" => '{"a":"b"}', "GITHUB_SHA" => "abc", "GITHUB_SERVER_URL" => "https://github.com", "GITHUB_REPOSITORY" => "shop/app"
    }],
    "run, with what OpenTelemetry says" => [%w[run --directory FOLDER], { "OTEL_RESOURCE_ATTRIBUTES" => "region=eu" }]
  }
  # One that a session of `inherit: true` follows.
  starter = 'RperfPush.start(inherit: true) { system(*ARGV, exception: true) }'

  before do
    # Ruby and Bundler load some by themselves.
    names = "puts Gem::Specification.select(&:default_gem?).map(&:name).uniq - Gem.loaded_specs.keys"
    gems = said(run_program([RbConfig.ruby, "-rbundler", "-e", names], env: clean({}))).split
    expect(gems).to include("json", "uri", "zlib")
    gems.each do |name|
      File.write(FileUtils.mkdir_p("#{tmpdir}/gems/#{name}").first + "/#{name}.gemspec", <<~RUBY)
        Gem::Specification.new("#{name}", "0.0.1") { |gem| gem.authors = ["a"]; gem.summary = "s" }
      RUBY
    end
    File.write("#{tmpdir}/Gemfile", gems.map { |name| "gem '#{name}', path: 'gems/#{name}'\n" }.join)
    # Bundler 4 itself loads one of them, etc, where it has to resolve what is not locked.
    said(run_program([RbConfig.ruby, "-S", "bundle", "lock", "--local"], env: clean("BUNDLE_SILENCE_DEPRECATIONS" => "true"), chdir: tmpdir))
    File.write("#{tmpdir}/set_up.rb", "require 'bundler/setup'; puts Gem.loaded_specs['json'].version")
    File.write("#{tmpdir}/loaded.rb", "puts($LOADED_FEATURES - ARGV.first.split(','))")
  end

  # Nothing of the bundle of this run.
  def clean(env) = { **ENV.keys.grep(/\A(?:BUNDLE|GEM|RUBY)/).to_h { |name| [name, nil] }, "TMPDIR" => tmpdir, **CommandLine.silence, "RUBYOPT" => nil, **env }

  define_method(:started) do |(arguments, env), *command|
    arguments = arguments.map { |argument| { "OUT" => "#{tmpdir}/p.json.gz", "FOLDER" => "#{tmpdir}/profiles" }.fetch(argument, argument) }
    run_program([RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, *arguments, *command], env: clean(env), chdir: tmpdir, timeout: 120)
  end

  define_method(:followed) { |*command| run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-rrperf_push", "-e", starter, *command], env: clean({}), chdir: tmpdir, timeout: 120) }

  define_method(:said) do |(out, err, status)|
    expect([err.sub(CommandLine::START_OF_RUN, ""), status.exitstatus]).to eq(["", 0])
    out
  end

  let(:plain) { said(run_program([RbConfig.ruby, "-e", "puts $LOADED_FEATURES.join(',')"], env: clean({}))).chomp }

  # Alone, through the command in an own process, and through the command in its own process: it is a Ruby program.
  let(:programs) do
    [["set_up.rb"], %w[-S bundle exec ruby -e] << "puts Gem.loaded_specs['json'].version", %w[-S bundle exec ./script]]
  end

  def only_ours = all(match(%r{/rperf_push|\A#{Regexp.escape(RubyProgram::LIB)}/}))

  ways.each do |name, way|
    it "is not loaded a feature of another gem: #{name}" do
      expect(said(started(way, RbConfig.ruby, "loaded.rb", plain)).lines(chomp: true)).to only_ours
    end

    it "gets the versions that it has locked: #{name}" do
      File.write("#{tmpdir}/script", "#!/usr/bin/env ruby\nputs Gem.loaded_specs['json'].version\n", perm: 0o755)
      expect(programs.map { |program| said(started(way, RbConfig.ruby, *program)) }).to all(eq("0.0.1\n"))
    end
  end

  it "is neither where a session of a program above follows it" do
    File.write("#{tmpdir}/script", "#!/usr/bin/env ruby\nputs Gem.loaded_specs['json'].version\n", perm: 0o755)
    expect(said(followed(RbConfig.ruby, "loaded.rb", plain)).lines(chomp: true)).to only_ours
    expect(programs.map { |program| said(followed(RbConfig.ruby, *program)) }).to all(eq("0.0.1\n"))
  end

  it "is neither where it is the root of a session itself" do
    exported, = started([%w[record -o OUT --print-env], {}])
    shell = ->(*program) { said(run_program(["bash", "-c", "#{exported}\nexec \"$0\" \"$@\"", RbConfig.ruby, *program], env: clean({}), chdir: tmpdir)) }
    expect(shell.call("loaded.rb", plain).lines(chomp: true)).to only_ours
    expect(shell.call("set_up.rb")).to eq("0.0.1\n")
  end
end
