# frozen_string_literal: true

require "bundler"
require "fileutils"
require "rake"
require "rubygems/package"

# A gem that carries the extension compiled, for one platform and each supported series of Ruby: nobody needs a compiler to
# install it. It is compiled against the libraries of an old Debian (`bin/setup gem` fetches them), so that it runs with these
# and with newer ones.
#
# rake-compiler does this with Rubies that are built for it, without a libruby, and rake-compiler-dock has those and old
# libraries in an image of Docker. Here the Rubies that are there will do: the library is linked without libruby, and finds what
# it needs of Ruby in the program that loads it.
class NativeGem
  include Rake::FileUtilsExt

  SERIES = %w[3.3 3.4].freeze
  # The platform, which is also the prefix of its compiler => what Debian calls it.
  PLATFORMS = { "x86_64-linux-gnu" => "amd64", "aarch64-linux-gnu" => "arm64" }.freeze
  # glibc of Debian 11, Ubuntu 20.04 and RHEL 9 or older
  NEWEST_GLIBC = Gem::Version.new("2.31")
  SYSTEM_LIBRARIES = /\A(?:libcurl\.so\.4|libz\.so\.1|lib(?:c|m|pthread|rt)\.so\.\d|ld-linux-.*)\z/

  def initialize(platform)
    @platform = platform
    architecture = PLATFORMS.fetch(platform) { abort "no gem is made for #{platform}, but for #{PLATFORMS.keys.join(" and ")}" }
    @sysroot = `bin/setup --sysroot #{architecture}`.chomp
    abort "there are no libraries of an old Debian for #{architecture}: run bin/setup gem" if @sysroot.empty?
    @folder = File.expand_path("tmp/native/#{platform}")
    @stage = "#{@folder}/gem"
  end

  # @return [String] the gem's path
  def pack
    rm_rf @stage
    libraries = SERIES.map { |series| compile(series) }
    specification(libraries).then do |spec|
      spec.files.each { |file| carry(file) unless libraries.include?(file) }
      path = File.expand_path("pkg/#{spec.file_name}")
      mkdir_p File.dirname(path)
      chdir(@stage) { Gem::Package.build(spec, false, true, path) }
    end
  end

  private

  # What is compiled at the installation is left out, and so is what that needs.
  def specification(libraries)
    Gem::Specification.load(File.expand_path("rperf-push.gemspec")).dup.tap do |spec|
      spec.platform = Gem::Platform.new(@platform)
      spec.required_ruby_version = [*spec.required_ruby_version.as_list, "< #{SERIES.last.next}.dev"]
      spec.extensions = []
      spec.files = spec.files.grep_v(%r{\A(?:ext|proto|bin)/}) + libraries
    end
  end

  def carry(file)
    mkdir_p File.dirname("#{@stage}/#{file}"), verbose: false
    cp file, "#{@stage}/#{file}", verbose: false
  end

  # @return [String] the library's path in the gem
  def compile(series)
    folder = "#{@folder}/#{series}"
    library = "lib/rperf_push/#{series}/rperf_push.so"
    rm_rf folder # what another compiler, or the testing build, has left there
    mkdir_p [folder, File.dirname("#{@stage}/#{library}")]
    Bundler.with_unbundled_env do
      sh environment, ruby(series), "-r", File.expand_path("rakelib/target.rb"), File.expand_path("ext/rperf_push/extconf.rb"),
         chdir: folder
      sh "make", "--silent", "LIBRUBYARG_SHARED=", "LIBPATH=", chdir: folder
    end
    check "#{folder}/rperf_push.so"
    cp "#{folder}/rperf_push.so", "#{@stage}/#{library}"
    library
  end

  # What pkg-config knows is of this machine, and so are the folders in which the compiler looks for libraries first.
  def environment
    compiler = ["#{@platform}-gcc", "--sysroot=#{@sysroot}", "-L=/usr/lib/#{@platform}", "-L=/lib/#{@platform}",
                "-Wl,--allow-shlib-undefined,--strip-all"]
    { "RPERF_PUSH_TESTING" => nil, "RPERF_PUSH_TARGET_CC" => compiler.join(" "), "RPERF_PUSH_TARGET_ROOT" => @sysroot,
      "PKG_CONFIG_LIBDIR" => @folder }
  end

  def ruby(series)
    @rubies ||= `bin/setup --rubies`.split("\n").to_h { |path| [`#{path} --disable-gems -e 'print RUBY_VERSION[/\\d+\\.\\d+/]'`, path] }
    @rubies.fetch(series) { abort "there is no Ruby #{series} here: run bin/setup gem" }
  end

  # That it runs where it was not compiled.
  def check(library)
    dynamic = `#{@platform}-objdump -p #{library}`
    foreign = dynamic.scan(/^\s*NEEDED\s+(\S+)/).flatten.grep_v(SYSTEM_LIBRARIES)
    abort "#{library} needs #{foreign.join(", ")}" if foreign.any?
    abort "#{library} looks for libraries in #{$1}" if dynamic =~ /^\s*R(?:UN)?PATH\s+(\S+)/

    too_new = dynamic.scan(/GLIBC_([\d.]+)$/).flatten.uniq.select { |version| Gem::Version.new(version) > NEWEST_GLIBC }
    abort "#{library} needs glibc #{too_new.join(", ")}" if too_new.any?
  end
end
