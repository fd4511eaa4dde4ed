# frozen_string_literal: true

require "json"
require_relative "support/pprof_profile"

# Wrong configurations, and configurations one after the other, with the real core in processes of their own.
RSpec.describe "A wrong configuration", :interpreted, :text do
  # What is written in the block => what the one line says
  mistaken = {
    "server_address = 'pyroscope:4040'" => %(server_address must be an http or https URL such as http://localhost:4040, got "pyroscope:4040"),
    "server_address = 'ftp://pyroscope'" => /\Aserver_address must be an http or https URL/,
    "server_address = 'http://'" => /\Aserver_address must be an http or https URL/,
    "server_address = ''" => /\Aserver_address must be an http or https URL/,
    "server_address = 'http://me:s3cret@'" => %r{\Aserver_address must be .*, got "http://\*\*\*@"\z},
    "freqency = 99" => 'unknown option "freqency" (did you mean frequency?)',
    "app_name = 'shop'" => 'unknown option "app_name" (did you mean application_name?)',
    "tags = { 'my-env' => 'x' }" => 'tags: "my-env" is not a legal name: letters, digits and _ only, not starting with a digit',
    "tags = { __name__: 'x' }" => /\Atags: "__name__" is reserved/,
    "tags = { env: nil }" => /\Atags must be names with text values.*, got a NilClass\z/,
    "tags = [:env]" => /\Atags must be names with text values.*, got an Array\z/,
    "tags = 'env'" => /\Atags must be names with text values.*, got "env"\z/,
    "tags = (1..40).to_h { |number| [number.to_s.prepend('t'), number] }" => /\Atags must be at most 27.*, got 40\z/,
    "frequency = 0" => "frequency must be an integer from 1 to 1000, got 0",
    "frequency = 1001" => "frequency must be an integer from 1 to 1000, got 1001",
    "frequency = 'fast'" => 'frequency must be an integer from 1 to 1000, got "fast"',
    "frequency = '99'" => 'frequency must be an integer from 1 to 1000, got "99"',
    "frequency = Float::NAN" => "frequency must be an integer from 1 to 1000, got NaN",
    "frequency = 10**40" => /\Afrequency must be an integer from 1 to 1000, got 1000/,
    "frequency = Object.new" => "frequency must be an integer from 1 to 1000, got an Object",
    "frequency = BasicObject.new" => "frequency must be an integer from 1 to 1000, got a BasicObject",
    "backend = :pyroscop" => /\Abackend must be one of pyroscope, .*directory.*, got "pyroscop"\z/,
    "backend = :directory" => "directory must name a directory when backend is directory, got nothing",
    "backend = :parca; config.directory = 'x'" =>
      "directory must come with backend directory, or without a backend, got backend parca",
    "engine = :fast" => 'engine must be one of auto, signal, safepoint, got "fast"',
    "mode = :gpu" => 'mode must be cpu, wall, alloc, heap, contention, custom, or several as cpu,wall,alloc,heap,contention,custom, got "gpu"',
    "mode = []" => "mode must be cpu, wall, alloc, heap, contention, custom, or several as cpu,wall,alloc,heap,contention,custom, got nothing",
    "upload_interval = 0" => "upload_interval must be a number of seconds above 0 and at most 86400, got 0",
    "upload_interval = '10s'" => 'upload_interval must be a number of seconds above 0 and at most 86400, got "10s"',
    "upload_timeout = Float::INFINITY" => /\Aupload_timeout must be a number of seconds above 0 and at most 86400/,
    "queue_max_bytes = 0" => /\Aqueue_max_bytes must be an integer from 1 to/,
    "overhead_limit = 2" => "overhead_limit must be a number above 0 and at most 1, got 2",
    "tls_verify = 'yes'" => 'tls_verify must be true or false, got "yes"',
    "proxy = 'nowhere'" => /\Aproxy must be a URL such as http:.*got "nowhere"\z/,
    "basic_auth_password = 's3cret'" => "basic_auth_password needs basic_auth_username",
    %(auth_token = "s3cret\\n") => /\Aauth_token must be text without NUL, CR and LF/,
    %(http_headers = { "X-Key" => "s3cret\\n" }) => 'http_headers: the value of "X-Key" holds a control character',
    %(application_name = "a\\0b") => /\Aapplication_name must be text without NUL/,
    %(application_name = "\\xFF") => "application_name is not valid UTF-8",
    "label_names = { '%GVL' => 'a b' }" => /\Alabel_names: "a b" is not a legal name/
  }

  before(:all) do
    out, err, status = run_ruby(<<~'RUBY', stdin: JSON.generate(mistaken.keys))
      require "json"
      class Lines
        attr_reader :all
        def initialize = @all = []
        %i[info warn error].each { |level| define_method(level) { |line| @all << line } }
      end
      answers = JSON.parse($stdin.read).to_h do |code|
        lines = Lines.new
        answer = RperfPush.configure { |config| config.logger = lines; eval("config.#{code}") }
        threads = Dir["/proc/self/task/*/comm"].map { |path| File.read(path).chomp }.grep(/^rpp-/)
        [code, { answer:, running: RperfPush.running?, threads:, lines: lines.all }]
      end
      puts JSON.generate(answers)
    RUBY
    raise err unless status.success?

    @answers = JSON.parse(out)
  end

  mistaken.each do |code, line|
    it "is false for #{code}, says so in one line, and starts nothing" do
      answer = @answers.fetch(code)
      expect(answer).to include("answer" => false, "running" => false, "threads" => [])
      expect(answer["lines"]).to match([start_with("[rperf-push] not started: ")])
      expect(answer["lines"].first.delete_prefix("[rperf-push] not started: ")).to match(line)
      expect(answer["lines"].first).not_to match(/s3cret|\n/)
    end
  end

  it "goes to standard error without a logger" do
    out, err, = run_ruby("print RperfPush.configure { |config| config.frequency = 0 }")
    expect([out, err]).to eq(["false", "[rperf-push] not started: frequency must be an integer from 1 to 1000, got 0\n"])
  end

  it "names the variable that it comes from" do
    env = { "RPERF_PUSH_FREQUENCY" => "fast", "PYROSCOPE_SERVER_ADDRESS" => "pyroscope" }
    out, err, = run_ruby("print RperfPush.configure", env:)
    expect(out).to eq("false")
    expect(err.lines.size).to eq(1)
    expect(err).to include('RPERF_PUSH_FREQUENCY must be an integer from 1 to 1000, got "fast"').and match(/server_address|PYROSCOPE_SERVER_ADDRESS/)
  end

  it "judges what the environment and the block say together" do
    said = lambda do |block, **env|
      out, err, = run_ruby("print RperfPush.configure { |config| #{block} }; RperfPush.flush", env: env.transform_keys { |key| "RPERF_PUSH_#{key.upcase}" })
      [out, err[/not started: (.*)/, 1], Dir["#{tmpdir}/*.pb.gz"].size]
    end
    directory = "config.directory = #{tmpdir.inspect}"
    wrong = "directory must come with backend directory, or without a backend, got backend pyroscope"
    expect(said.("config.backend = :pyroscope", directory: tmpdir)).to eq(["false", wrong, 0])
    expect(said.(directory, backend: "pyroscope")).to eq(["false", wrong, 0])
    expect(said.("", directory: tmpdir)).to match(["true", nil, be >= 1])
    expect(said.("config.backend = :directory", directory: tmpdir)).to match(["true", nil, be >= 2])
    expect(said.(directory, backend: "directory")).to match(["true", nil, be >= 3])
    expect(said.(directory)).to match(["true", nil, be >= 4])
  end

  it "raises from configure! with all errors at once" do
    out, err, status = run_ruby(<<~'RUBY')
      begin
        RperfPush.configure! do |config|
          config.server_address = "pyroscope:4040"
          config.freqency = 99
          config.tags = { "my-env" => "x", ok: 1 }
          config.frequency = "fast"
        end
      rescue RperfPush::ConfigurationError => e
        puts e.message, RperfPush.running?
      end
    RUBY
    expect(status).to be_success, err
    expect(out.lines(chomp: true)).to contain_exactly(/\Aserver_address must be/, /\Aunknown option "freqency"/, /\Atags: "my-env"/,
                                                      /\Afrequency must be/, "false")
    expect(err).to eq("")
  end
end

RSpec.describe "Configurations one after the other" do
  go = <<~'RUBY'
    def go(name, **options)
      RperfPush.configure do |config|
        config.application_name = name
        config.backend = :directory
        config.directory = ENV.fetch("FOLDER")
        options.each { |option, value| config.public_send(:"#{option}=", value) }
      end
    end

    def work(seconds = 0.1)
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
    end

    def names_of_threads = Dir["/proc/self/task/*/comm"].filter_map { |path| File.read(path).chomp rescue nil }

    # Those that were joined are about to leave /proc: they have some time for it.
    def own_threads(wanted = %w[rpp-collector rpp-control rpp-uploader])
      600.times do
        seen = names_of_threads.grep(/^rpp-/).sort
        return seen if seen == wanted
        sleep 0.1
      end
      names_of_threads.grep(/^rpp-/).sort
    end
  RUBY

  define_method(:run_with_go) do |code|
    out, err, status = run_ruby("#{go}\n#{code}", env: { "FOLDER" => tmpdir })
    expect(status).to be_success, err
    expect(err).to eq("")
    out
  end

  # name => [process ids of its files]
  def files
    Dir["#{tmpdir}/*.pb.gz"].map { |path| File.basename(path).split("-") }.group_by(&:first)
                            .transform_values { |parts| parts.map { |part| part[-2].to_i }.uniq }
  end

  it "replace each other: what comes later goes to the last one" do
    out = run_with_go(<<~'RUBY')
      go("first")
      work
      go("second")
      work
      print RperfPush.flush, own_threads
    RUBY
    expect(out).to eq('true["rpp-collector", "rpp-control", "rpp-uploader"]')
    expect(files.keys).to contain_exactly("first", "second")
  end

  it "leave what runs alone when they are wrong" do
    expect(run_with_go('go("good"); print RperfPush.configure { |config| config.logger = File.open(File::NULL, "w"); config.frequency = 0 }; work; print RperfPush.flush')).to eq("falsetrue")
    expect(files.keys).to eq(["good"])
  end

  it "may switch it off, and on again" do
    expect(run_with_go('go("on"); print go("off", enabled: false), RperfPush.running?, own_threads([]); print go("again"), RperfPush.running?'))
      .to eq("truefalse[]truetrue")
  end

  it "may come after shutdown, any number of times" do
    out = run_with_go(<<~'RUBY')
      go("before")
      2.times { RperfPush.shutdown }
      print RperfPush.running?, own_threads([])
      5.times { go("after"); work(0.02); RperfPush.shutdown }
      go("after")
      work
      print RperfPush.flush
    RUBY
    expect(out).to eq("false[]true")
    expect(files.keys).to include("after")
  end

  it "may come 300 times in a row: threads, descriptors and memory stay level" do
    out = run_with_go(<<~'RUBY')
      def now = [own_threads, Dir.children("/proc/self/fd").size, Process.respond_to?(:warmup) && Process.warmup && File.read("/proc/self/statm").split[1].to_i * 4]
      again = ->(times) { times.times { |number| go("same", enabled: number % 7 != 6) } }
      again.(100)
      before = now
      again.(200)
      after = now
      p before.first(2) == after.first(2), after.last - before.last < 4096
    RUBY
    expect(out).to eq("true\ntrue\n")
  end

  it "may come in a forked child, which leaves the parent's alone" do
    out = run_with_go(<<~'RUBY')
      go("parent")
      child = fork do
        go("child")
        work
        exit!(RperfPush.flush ? 0 : 1)
      end
      work
      Process.wait(child)
      puts $?.exitstatus, Process.pid, child, RperfPush.flush
    RUBY
    status, parent, child, flushed = out.split
    expect([status, flushed]).to eq(%w[0 true])
    # Until it was configured, the child carried on with what it came with.
    expect(files).to match("parent" => include(parent.to_i), "child" => [child.to_i])
  end

  it "may come from many threads at once, among other calls" do
    out = run_with_go(<<~'RUBY')
      threads = 4.times.map do |number|
        Thread.new do
          6.times do
            go("t#{number}")
            work(0.01)
            [-> { RperfPush.flush(timeout: 1) }, -> { RperfPush.shutdown }, -> { RperfPush.stats }].sample.call
          end
        end
      end
      threads.each(&:join)
      go("last")
      work
      print RperfPush.flush, own_threads
    RUBY
    expect(out).to eq('true["rpp-collector", "rpp-control", "rpp-uploader"]')
    expect(files.keys).to include("last")
  end
end

RSpec.describe "The logger" do
  # The upload that fails at once gives it something to say.
  def run_logging(logger, more = "")
    env = { "RPERF_PUSH_SERVER_ADDRESS" => "http://127.0.0.1:9", "RPERF_PUSH_UPLOAD_INTERVAL" => "0.2", "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "0.2" }
    out, err, status = run_ruby(<<~RUBY, env:)
      require "logger"
      require "stringio"
      RperfPush.configure! { |config| config.logger = (#{logger}) }
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
      Math.sqrt(2) while RperfPush.stats[:uploads_retried].zero? && Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
      RperfPush.shutdown
      #{more}
    RUBY
    expect(status).to be_success, err
    [out, err]
  end

  failure = /\[rperf-push\] upload to pyroscope failed: .*; trying again$/

  it "may be one as Rails has it" do
    out, err = run_logging("Logger.new($stdout)")
    expect(out).to match(/WARN -- : #{failure}/)
    expect(err).to eq("")
  end

  it "may be an IO" do
    expect(run_logging("$stdout")).to match([failure, ""])
    expect(run_logging("$stderr")).to match(["", failure])
  end

  it "is standard error by default" do
    expect(run_logging("nil")).to match(["", failure])
  end

  it "may raise: the line goes to standard error, the application goes on" do
    logger = "Object.new.tap { |logger| def logger.warn(line) = raise(IOError, 'full'); def logger.info(_) = nil; def logger.error(_) = nil }"
    out, err = run_logging(logger, "print :alive")
    expect(out).to eq("alive")
    expect(err).to match(failure)
  end
end
