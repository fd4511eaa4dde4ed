# frozen_string_literal: true

require "rbconfig"
require "rperf_push"
require_relative "../support/parca_double"
require_relative "../support/pyroscope_double"

module Properties
  # How a program is profiled, and where the profile then is. `reach` says which processes it has: :root or :all.
  Way = Data.define(:name, :values, :reach, :session) do
    def inner? = session == :inner
  end

  # What a run of a program left.
  Outcome = Data.define(:status, :out, :err, :truth, :datas, :left) do
    # @return [Array<Integer, nil>] how it ended
    def ending = [status.exitstatus, status.termsig]
  end

  # Runs programs in each way.
  class Runner
    ROOT = File.expand_path("../..", __dir__)
    LIB = File.join(ROOT, "lib")
    EXE = File.join(ROOT, "exe/rperf-push")
    RUNTIME = File.join(__dir__, "runtime.rb")
    PATIENCE = 120 # seconds: only what hangs takes so long
    TIMES = %i[cpu wall].freeze

    WAYS = [
      Way.new(name: "alone", values: [], reach: :all, session: :none),
      Way.new(name: "start_stop", values: TIMES, reach: :root, session: :inner),
      Way.new(name: "block", values: TIMES, reach: :root, session: :inner),
      Way.new(name: "snapshots", values: TIMES, reach: :root, session: :inner),
      Way.new(name: "inherit", values: TIMES, reach: :all, session: :inner),
      Way.new(name: "record_cpu", values: %i[cpu], reach: :all, session: :command),
      Way.new(name: "record_wall", values: %i[wall], reach: :all, session: :command),
      Way.new(name: "record_both", values: TIMES, reach: :all, session: :command),
      Way.new(name: "run_directory", values: TIMES, reach: :all, session: :continuous),
      Way.new(name: "run_server", values: TIMES, reach: :all, session: :continuous),
      Way.new(name: "run_parca", values: TIMES, reach: :all, session: :continuous),
      Way.new(name: "defer", values: TIMES, reach: :root, session: :inner)
    ].to_h { |way| [way.name, way] }.freeze

    SERVERS = { "run_server" => PyroscopeDouble, "run_parca" => ParcaDouble }.freeze
    # What the server does for the first second, by the seed.
    FAULTS = [{}, { status: 503 }, { status: 429, retry_after: 1 }, { down: "refuse" }, { lost_request: true }, { delay: 0.8 }].freeze

    # @param folder [String] where everything of a run goes
    def initialize(folder)
      @folder = folder
    end

    # @return [Outcome]
    def run(plan, way)
      prepare(plan)
      server = SERVERS[way.name]&.new
      fault(server, plan) if server
      status = spawn_and_wait(plan, command(way, plan), environment(plan, way, server))
      Outcome.new(status:, out: read("out"), err: read("err"), truth: truth, datas: datas(server), left: left)
    ensure
      server&.stop
    end

    private

    def path(name) = File.join(@folder, name)
    def read(name) = File.read(path(name), encoding: Encoding::UTF_8).scrub

    def prepare(plan)
      FileUtils.rm_rf(Dir["#{@folder}/*"])
      %w[tmp profiles].each { |name| Dir.mkdir(path(name)) }
      File.write(path("plan.json"), JSON.generate(plain(plan)))
    end

    def plain(one)
      case one
      when Data then one.to_h.transform_values { |value| plain(value) }
      when Array then one.map { |value| plain(value) }
      else one
      end
    end

    # It comes back while the program still runs, or soon after its end.
    def fault(server, plan)
      kind = FAULTS[plan.seed % FAULTS.size]
      server.fault(**kind)
      @mending = Thread.new { sleep 1 and server.fault } unless kind.empty?
    end

    def command(way, plan)
      program = [RUNTIME, path("plan.json")]
      ruby = [RbConfig.ruby, *(["-E", plan.world.encodings] if plan.world.encodings)]
      case way.name
      when /^record_(.*)/
        mode = { "cpu" => "cpu", "wall" => "wall", "both" => "cpu,wall" }.fetch($1)
        [RbConfig.ruby, "-I", LIB, EXE, "record", "-m", mode, "-f", "99", "-o", path("profiles/record.json"), *ruby, *program]
      when /^run_/ then [RbConfig.ruby, "-I", LIB, EXE, "run", *ruby, *program]
      else [*ruby, *(["-I", LIB] if way.inner?), *program]
      end
    end

    def environment(plan, way, server)
      { "PROPERTIES_TRUTH" => path("truth"), "PROPERTIES_DATA" => path("profiles/data"), "PROPERTIES_WAY" => (way.name if way.inner?),
        "TMPDIR" => path("tmp"), "LC_ALL" => plan.world.locale, "LANG" => nil, "BUNDLER_SETUP" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil,
        **(way.session == :continuous ? continuous(server) : {}) }
    end

    def continuous(server)
      backend = server.is_a?(ParcaDouble) ? "parca" : "pyroscope"
      where = server ? { "RPERF_PUSH_SERVER_ADDRESS" => server.url, "RPERF_PUSH_BACKEND" => backend } : { "RPERF_PUSH_DIRECTORY" => path("profiles"), "RPERF_PUSH_BACKEND" => "directory" }
      { "RPERF_PUSH_APPLICATION_NAME" => "properties", "RPERF_PUSH_UPLOAD_INTERVAL" => "1", "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "30",
        "RPERF_PUSH_DIRECTORY_MAX_FILES" => "10000", **where }.compact
    end

    def spawn_and_wait(plan, command, env)
      home = path("home")
      Dir.mkdir(home)
      pid = Process.spawn(env, *command, chdir: home, umask: plan.world.umask, in: File::NULL, out: path("out"), err: path("err"), pgroup: true)
      waiter = Process.detach(pid)
      return waiter.value if waiter.join(PATIENCE)

      Process.kill(:KILL, -pid)
      waiter.value
    ensure
      @mending&.join
    end

    def truth
      File.readlines(path("truth"), chomp: true).map { |line| JSON.parse(line, symbolize_names: true) }
    rescue Errno::ENOENT
      []
    end

    def datas(server)
      return server.accepted.map { |one| RperfPush::Formats.decode(one.raw, "a push") } if server

      Dir[path("profiles/*")].reject { |file| File.directory?(file) }.sort.map { |file| RperfPush::Formats.load(file) }
    end

    # The folder for a user's sessions stays, and is empty.
    def left = Dir.glob("**/*", File::FNM_DOTMATCH, base: path("tmp")).reject { |name| name.end_with?(".") || name == "rperf-push-#{Process.uid}" }
  end
end
