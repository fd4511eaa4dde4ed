# frozen_string_literal: true

require "etc"
require "fileutils"
require "rubygems/package"
require "rperf_push/version"
require_relative "support/pprof_profile"

# The gem as it is packed and installed, in a copy of the checkout and without what Bundler has put into the environment.
# Optimizing the code and describing it to a debugger take long, and show nothing here.
RSpec.describe "The gem", :once, :long do
  root = File.expand_path("..", __dir__)
  unset = ENV.keys.grep(/\A(?:BUNDLER?_|GEM_|RUBY|RPERF_PUSH_|PYROSCOPE_)/).to_h { |name| [name, nil] }
  fast = { "MAKEFLAGS" => "-j#{Etc.nprocessors} optflags=-O0 debugflags=-g0" }
  clean = { **unset, **fast }

  before(:context) do
    @folder = Dir.mktmpdir("rperf-push-gem-")
    @copy = "#{@folder}/checkout"
    Dir.mkdir(@copy)
    pack = "git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -C \"$0\" -xf -"
    system("bash", "-o", "pipefail", "-c", pack, @copy, chdir: root, exception: true)
  end

  after(:context) { FileUtils.rm_rf(@folder) }

  # @return [String] standard output
  define_method(:run) do |*command, chdir: tmpdir, env: {}|
    out, err, status = run_program(command, env: clean.merge(env), chdir:, timeout: 600)
    expect(status).to be_success, "#{command.join(" ")}\n#{out}\n#{err}"
    out
  end

  define_method(:ruby) { |*arguments, with: RbConfig.ruby, **options| run(with, *arguments, **options) }

  # A program that has nothing of the checkout on its load path.
  def profile(*command, **options)
    folder = Dir.mktmpdir("profiles-", tmpdir)
    code = <<~RUBY
      require "rperf_push"
      RperfPush.configure! { |config| config.directory = #{folder.inspect}; config.application_name = "tiny" }
      def tiny_work(till) = (nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till)
      tiny_work(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + 0.3)
      puts $LOADED_FEATURES.grep(/rperf_push/)
    RUBY
    loaded = ruby(*command, "-e", code, **options)
    names = Dir["#{folder}/tiny-*.pb.gz"].flat_map { |path| PprofProfile.read(path).samples.flat_map { |sample| sample.stack.map(&:name) } }
    expect(names).to include("Object#tiny_work")
    loaded
  end

  it "is found by its metadata: where it is at home, and files that are there" do
    spec = Gem::Specification.load("#{root}/rperf-push.gemspec")
    expect(File.read("#{root}/ext/rperf_push/core/delivery/exporter.c")).to include("\"#{spec.homepage}\"")
    paths = spec.metadata.slice("changelog_uri", "documentation_uri", "source_code_uri").transform_values do |uri|
      uri.delete_prefix("#{spec.homepage}/")[%r{\A(?:blob|tree)/main(.*)}, 1]
    end
    expect(paths.keys).to contain_exactly("changelog_uri", "documentation_uri", "source_code_uri")
    expect(paths.values).to all(satisfy { |path| path && File.exist?("#{root}#{path}") })
  end

  it "is whole when it is built by hand: it generates its code where it is installed, and needs no Internet" do
    ruby("-S", "gem", "build", "--strict", "rperf-push.gemspec", "--output", "#{tmpdir}/built.gem", chdir: @copy)
    home = { "GEM_HOME" => "#{tmpdir}/home", "GEM_PATH" => "#{tmpdir}/home" }
    ruby("-S", "gem", "install", "--local", "--no-document", "built.gem", env: home)
    expect(ruby("#{tmpdir}/home/bin/rperf-push", "--version", env: home)).to eq("rperf-push #{RperfPush::VERSION}\n")
    loaded = profile(env: home).lines
    expect(loaded.size).to be > 10
    expect(loaded).to all(start_with("#{tmpdir}/home/"))
  end

  it "comes from git, too" do
    git = %w[git -c user.name=a -c user.email=a@b]
    [%w[init -q], %w[add -A], %w[commit -q -m x]].each { |arguments| run(*git, *arguments, chdir: @copy) }
    File.write("#{tmpdir}/Gemfile", "source Gem.default_sources.first\ngem 'rperf-push', git: 'file://#{@copy}'\n")
    home = { "BUNDLE_PATH" => "#{tmpdir}/home", "BUNDLE_APP_CONFIG" => "#{tmpdir}/config", "BUNDLE_GEMFILE" => "#{tmpdir}/Gemfile" }
    ruby("-S", "bundle", "install", "--local", env: home)
    expect(ruby("-S", "bundle", "exec", "rperf-push", "--version", env: home)).to eq("rperf-push #{RperfPush::VERSION}\n")
    expect(profile("-rbundler/setup", env: home).lines).to all(start_with("#{tmpdir}/home/"))
    # What it says must be of use where there is no checkout.
    _, err, status = run_program(%W[#{RbConfig.ruby} -S bundle exec rperf-push view Gemfile], env: clean.merge(home), chdir: tmpdir)
    expect([err.lines.size, status.exitstatus]).to eq([1, 1])
    expect(err).to match(/\Arperf-push: view: this copy of rperf-push has no page: one from git.*In a checkout,.*`rake build` packs a gem with it/)
  end

  # The page is built elsewhere; it takes npm long.
  define_method(:pack_native) do
    FileUtils.mkdir_p("#{@copy}/tmp")
    FileUtils.cp_r("#{File.dirname(__dir__)}/tmp/page", "#{@copy}/tmp/page", preserve: true)
    platform = "#{RbConfig::CONFIG["host_cpu"]}-linux-gnu"
    out, err, status = run_program([RbConfig.ruby, "-S", "rake", "gem:native[#{platform}]"], env: fast, chdir: @copy, timeout: 600)
    expect(status).to be_success, out + err
    Dir["#{@copy}/pkg/rperf-push-#{RperfPush::VERSION}-#{platform}.gem"].fetch(0)
  end

  it "is installed without a compiler on each Ruby that it was compiled for, and knows which these are" do
    packed = pack_native
    spec = Gem::Package.new(packed).spec
    rubies = run("#{root}/bin/setup", "--rubies").split("\n").to_h { |path| [path, run(path, "--disable-gems", "-e", "print RUBY_VERSION")] }
    able = rubies.select { |_, version| spec.required_ruby_version.satisfied_by?(Gem::Version.new(version)) }
    expect(able.values.map { |version| version[/\d+\.\d+/] }).to include("3.3", "3.4")
    able.each do |path, version|
      home = { "GEM_HOME" => "#{tmpdir}/#{version}", "GEM_PATH" => "#{tmpdir}/#{version}", "PATH" => "#{tmpdir}/empty" }
      ruby("#{File.dirname(path)}/gem", "install", "--local", "--no-document", packed, with: path, env: home)
      loaded = profile(with: path, env: home).lines(chomp: true)
      expect(loaded).to all(start_with("#{tmpdir}/#{version}/gems/"))
      expect(loaded.grep(/\.so\z/)).to match([%r{/lib/rperf_push/#{version[/\d+\.\d+/]}/rperf_push\.so\z}])
    end
    expect(spec.required_ruby_version).not_to be_satisfied_by(Gem::Version.new("3.5.0"))
    expect(spec.files.grep(/\.(?:c|h)\z|extconf/)).to eq([])
    expect(spec.files).to include("lib/rperf_push/web_ui/page/index.html")
  end

  # All programs of the machine but these.
  define_method(:path_without) do |pattern|
    bin = "#{tmpdir}/bin"
    Dir.mkdir(bin)
    ENV.fetch("PATH").split(":").reverse.each do |folder|
      Dir.glob("#{folder}/*").each { |file| FileUtils.ln_sf(file, bin) unless File.basename(file).match?(pattern) }
    end
    bin
  end

  { "nanopb" => /\A(?:nanopb|protoc-gen-nanopb)/, "protoc" => /\Aprotoc\z/ }.each do |missing, pattern|
    it "says in one line that #{missing} is missing where code has to be generated" do
      _, err, status = run_program([RbConfig.ruby, "#{@copy}/ext/rperf_push/extconf.rb"],
                                   env: clean.merge("PATH" => path_without(pattern)), chdir: tmpdir)
      expect(status).not_to be_success
      expect(err.lines.first).to match(/\Arperf-push: no code was generated from proto\/: .*#{missing}/)
    end
  end

  it "says why its library cannot be loaded, and not that there is none" do
    FileUtils.cp_r("#{root}/lib", "#{tmpdir}/lib")
    Dir["#{tmpdir}/lib/rperf_push/[0-9]*/*.so"].each { |path| File.write(path, "cut") }
    _, err, = run_program([RbConfig.ruby, "-I", "#{tmpdir}/lib", "-r", "rperf_push", "-e", ""], env: clean)
    expect(err).to include("rperf_push/#{RUBY_VERSION[/\d+\.\d+/]}/rperf_push.so (LoadError)")
  end

  # A copy of what is loaded, with a library of its own.
  define_method(:with_library) do |series, code, &change|
    FileUtils.cp_r(Dir["#{root}/lib/*"].grep_v(/\.so\z/), FileUtils.mkdir_p("#{tmpdir}/lib").first)
    FileUtils.rm_rf(Dir["#{tmpdir}/lib/rperf_push/[0-9]*"])
    FileUtils.mkdir_p("#{tmpdir}/lib/rperf_push/#{series}")
    File.binwrite("#{tmpdir}/lib/rperf_push/#{series}/rperf_push.so", code)
    change&.call("#{tmpdir}/lib/rperf_push/library.rb")
    run_program([RbConfig.ruby, "-I", "#{tmpdir}/lib", "#{root}/exe/rperf-push", "check"], env: clean)
  end

  { "libcurl.so.4" => "libcurl4", "libz.so.1" => "zlib1g" }.each do |library, package|
    it "says in one line that #{library} is missing, and which package has it" do
      series = RUBY_VERSION[/\d+\.\d+/]
      code = File.binread("#{root}/lib/rperf_push/#{series}/rperf_push.so")
      away = library.sub("lib", "off") # of the same length
      expect(code.gsub!("#{library}\0", "#{away}\0")).not_to be_nil
      _, err, status = with_library(series, code) { |path| File.write(path, File.read(path).sub(library, away)) }
      expect([err, status.exitstatus]).to eq(["rperf-push: needs #{away}, please install #{package} (Debian, Ubuntu)\n", 1])
    end
  end

  it "says in one line which Rubies it was compiled for where it was not for this one" do
    _, err, status = with_library("9.9", "")
    expect(err).to eq("rperf-push: was compiled for Ruby 9.9; " \
                      "`gem install rperf-push --platform ruby` compiles it for #{RUBY_VERSION[/\d+\.\d+/]}\n")
    expect(status.exitstatus).to eq(1)
  end
end
