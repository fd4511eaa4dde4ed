# frozen_string_literal: true

require "bundler"
require "fileutils"
require "open3"
require "psych"
require "rbconfig"
require_relative "../support/helpers/ruby_program"

# Tries whether tests notice what they should: breaks a line in a copy of the checkout, builds it, and runs the test that
# mutations.yml names. Run by `rake mutations`.
class Mutations
  include RubyProgram

  ROOT = File.expand_path("../..", __dir__)
  LIST = File.join(__dir__, "mutations.yml")
  COPY = File.join(ROOT, "tmp/mutations/checkout")
  BUILD = File.join(COPY, "tmp/cmake/dev")
  TIMEOUT_SECONDS = 300

  # What is wrong with the list, or with the build: no mutation was judged.
  class Error < StandardError; end

  Mutation = Data.define(:promise, :file, :text, :replacement, :test, :spec, :example) do
    def initialize(promise:, file:, text:, replacement:, test: nil, spec: nil, example: nil) = super

    def core? = !test.nil?
    def program = test[/\A\w+/]
    def caught_by = core? ? test : [spec, example].compact.join(": ")

    def path(root = COPY)
      found = Dir[File.join(root, "{ext,lib}/rperf_push/**", file)]
      found.size == 1 ? found.first : raise(Error, "#{file}: #{found.size} files have this name")
    end

    # @raise [Error] unless the text is there once
    # @return [String] the file as it is
    def source(root = COPY)
      source = File.read(path(root))
      times = source.scan(text).size
      times == 1 ? source : raise(Error, "#{file} has this text #{times} times: #{text.inspect}")
    end
  end

  # @return [Array<Mutation>]
  def self.list = Psych.safe_load_file(LIST, symbolize_names: true).map { |row| Mutation.new(**row) }

  # @param only [Regexp] of files' names, promises or tests
  def initialize(only: //)
    @mutations = Mutations.list.select { |mutation| [mutation.file, mutation.promise, mutation.caught_by].any?(only) }
    @survivors = []
    @errors = []
  end

  # @raise [Error] once all others were judged
  # @return [Boolean] whether every one was caught
  def run
    $stdout.sync = true
    copy_checkout
    @mutations.each(&:source)
    check_tests
    @mutations.each { |mutation| judge(mutation) }
    puts "#{@mutations.size - @survivors.size - @errors.size} of #{@mutations.size} mutations were caught"
    @survivors.each { |mutation| puts "NOT CAUGHT  #{mutation.file}: #{mutation.promise} (#{mutation.caught_by})" }
    raise Error, @errors.join("\n") if @errors.any?

    @survivors.empty?
  end

  private

  # Files that stay as they are keep their times, so that a second run builds little.
  def copy_checkout
    files = IO.popen(%w[git ls-files -z --cached --others --exclude-standard], chdir: ROOT, &:read).split("\0")
    files.select! { |file| File.file?(File.join(ROOT, file)) }
    files.each { |file| copy(file) unless same?(file) }
    left = Dir.glob("{ext,spec,lib}/**/*.{c,h,rb}", base: COPY) - files
    left.each { |file| FileUtils.rm(File.join(COPY, file)) }
    copy_bundle
  end

  # The copy has a bundle of its own, or the original's files were loaded. Its lock file names the gem by a relative path.
  def copy_bundle
    original = File.dirname(ENV.fetch("BUNDLE_GEMFILE"))
    bundle = File.join(COPY, "tmp/bundle", File.basename(original))
    FileUtils.mkdir_p(bundle)
    FileUtils.cp_r(Dir[File.join(original, "{Gemfile.lock,.bundle}")], bundle)
    File.write(File.join(bundle, "Gemfile"), "eval_gemfile #{File.join(COPY, "Gemfile").dump}\n")
    @environment = { "BUNDLE_GEMFILE" => File.join(bundle, "Gemfile"), "BUNDLE_APP_CONFIG" => File.join(bundle, ".bundle") }
  end

  def same?(file) = File.exist?(File.join(COPY, file)) && FileUtils.identical?(File.join(ROOT, file), File.join(COPY, file))

  def copy(file)
    target = File.join(COPY, file)
    FileUtils.mkdir_p(File.dirname(target))
    FileUtils.cp(File.join(ROOT, file), target, preserve: File.stat(File.join(ROOT, file)).executable?)
    FileUtils.touch(target)
  end

  # A test that fails anyway shows nothing.
  def check_tests
    core, specs = @mutations.uniq(&:caught_by).partition(&:core?)
    build_core(*core.map(&:program).uniq) if core.any?
    build_extension if specs.any?
    failing = (core + specs).reject { |mutation| passes?(mutation) }
    raise Error, "fail without a mutation: #{failing.map(&:caught_by).join(", ")}" if failing.any?

    puts "#{core.size + specs.size} tests pass without a mutation"
  end

  def judge(mutation)
    source = mutation.source
    File.write(mutation.path, source.sub(mutation.text) { mutation.replacement })
    mutation.core? ? build_core(mutation.program) : build_extension
    survived = passes?(mutation)
    @survivors << mutation if survived
    puts "#{survived ? "NOT CAUGHT" : "caught    "}  #{mutation.file}: #{mutation.promise}"
  rescue Error => e
    puts "NOT JUDGED  #{mutation.file}: #{mutation.promise}"
    @errors << "#{mutation.promise}: #{e.message}"
  ensure
    File.write(mutation.path, source) if source
  end

  def passes?(mutation)
    mutation.core? ? core_test_passes?(mutation) : spec_passes?(mutation)
  rescue TimedOut
    false
  end

  def core_test_passes?(mutation)
    _, _, status = run_program([File.join(BUILD, "spec/core", mutation.program), mutation.test[/\w+\z/]], timeout: TIMEOUT_SECONDS)
    status.success?
  end

  def spec_passes?(mutation)
    selection = mutation.example ? ["--example", mutation.example] : []
    command = ["bundle", "exec", "rspec", "--no-color", mutation.spec, *selection]
    out, err, status = unbundled { run_program(command, env: @environment, chdir: COPY, timeout: TIMEOUT_SECONDS) }
    ran, failed = out[/^(\d+) examples?, (\d+) failures?/] && [$1.to_i, $2.to_i]
    raise Error, "#{mutation.caught_by} did not run:\n#{out}#{err}" unless ran&.positive? && !out.include?("outside of examples")

    status.success? && failed.zero?
  end

  def build_core(*programs)
    build("cmake", "--preset", "dev") unless File.exist?(File.join(BUILD, "CMakeCache.txt"))
    build("cmake", "--build", BUILD, *programs.flat_map { |program| ["--target", program] })
  end

  def build_extension = build("bundle", "exec", "rake", "compile", "compile:testing")

  def unbundled(&) = Bundler.with_unbundled_env(&)

  def build(*command)
    output, status = unbundled { Open3.capture2e(@environment, *command, chdir: COPY) }
    raise Error, "does not build: #{command.join(" ")}\n#{output.lines.last(30).join}" unless status.success?
  end
end
