# frozen_string_literal: true

require "fileutils"
require "json"
require "rbconfig"
require "rperf_push"
require_relative "outside"
require_relative "ways"

module Properties
  # What profiles together have once. `reach` says which processes: :root or :all. `span` is the time in which they were recorded, in
  # nanoseconds since the epoch; nil: all of the program's.
  Take = Data.define(:source, :modes, :reach, :span, :datas)

  # What a run of a program left. `said` is what somebody outside printed, `stored` what a server has accepted.
  Outcome = Data.define(:status, :out, :err, :said, :truth, :takes, :stored, :left) do
    # @return [Array<Integer, nil>] how it ended
    def ending = [status.exitstatus, status.termsig]
    # @return [Hash, nil] the first fact of that name
    def fact(name) = truth.find { |one| one[name] }
  end

  # Runs programs in each way.
  class Runner
    ROOT = File.expand_path("../..", __dir__)
    LIB = File.join(ROOT, "lib")
    EXE = File.join(ROOT, "exe/rperf-push")
    PROGRAM = File.join(__dir__, "program/run.rb")
    MAX_WAIT = 120 # seconds: only what hangs takes so long
    FAULTS_END = 1 # second
    FAULTS_BEGIN = 0.0..2.0 # seconds
    TIMES = %i[cpu wall].freeze

    # @param folder [String] where everything of a run goes
    def initialize(folder)
      @folder = folder
    end

    # @return [Outcome]
    def run(plan, way)
      prepare(plan)
      server = way.server.new if way.server.is_a?(Class)
      changing = server && misbehave(server, way, plan.seed)
      status = spawn_and_wait(plan, way, environment(plan, way, server))
      changing&.join
      Outcome.new(status:, out: read("out"), err: read("err"), said: (read("outside.log") if File.file?(path("outside.log"))).to_s, truth: truth, takes: takes(way, server), stored: server&.accepted || [], left: left)
    ensure
      server&.stop
    end

    private

    def path(name) = File.join(@folder, name)
    def read(name) = File.read(path(name), encoding: Encoding::UTF_8).scrub

    def prepare(plan)
      FileUtils.rm_rf(@folder)
      FileUtils.mkdir_p(@folder)
      %w[tmp inner command outside].each { |name| Dir.mkdir(path(name)) }
      File.write(path("plan.json"), JSON.generate(plain(plan)))
    end

    def plain(one)
      case one
      when Data then one.to_h.transform_values { |value| plain(value) }
      when Array then one.map { |value| plain(value) }
      else one
      end
    end

    # A fault that passes is there at first. One that lasts begins while the program runs, or before or after that.
    #
    # @return [Thread] which changes what the server does
    def misbehave(server, way, seed)
      fault = way.faults[seed % way.faults.size]
      return Thread.new { sleep Random.new(seed).rand(FAULTS_BEGIN) and server.fault(**fault) } if way.faults.equal?(LASTING)

      server.fault(**fault)
      Thread.new { sleep FAULTS_END and server.fault }
    end

    # --- the command line

    def command_line(plan, way)
      program = [RbConfig.ruby, *(["-E", plan.world.encodings] if plan.world.encodings), *(["-I", LIB] if way.inner_only?), PROGRAM, path("plan.json")]
      return program unless way.command

      [RbConfig.ruby, "-I", LIB, EXE, way.command.to_s, *options(plan, way), *program]
    end

    def options(plan, way)
      case way.command
      when :run then []
      when :trace then ["-o", path("command/trace.json")]
      else ["-m", way.modes.join(","), "-f", "99", "--engine", plan.engine, "-o", path("command/record.json")]
      end
    end

    def environment(plan, way, server)
      { "PROPERTIES_TRUTH" => path("truth"), "PROPERTIES_DATA" => path("inner/data"), "PROPERTIES_WAY" => way.inner&.to_s,
        "PROPERTIES_MODES" => way.modes.join(","), "PROPERTIES_ENGINE" => plan.engine, "PROPERTIES_GO" => (path("go") if way.outside),
        "PROPERTIES_STATS" => ("1" if way.faults.equal?(LASTING)),
        "TMPDIR" => path("tmp"), "LC_ALL" => plan.world.locale, "LANG" => nil, "BUNDLER_SETUP" => nil, "RUBYOPT" => plan.world.rubyopt, "RUBYLIB" => nil,
        **(way.continuous? ? continuous(plan, way, server) : {}) }
    end

    def continuous(plan, way, server)
      where = server ? { "SERVER_ADDRESS" => server.url } : { "DIRECTORY" => path("command"), "DIRECTORY_MAX_FILES" => "10000" }
      backend = { FakeParca => "parca", FakePyroscope => "pyroscope", directory: "directory" }.fetch(way.server)
      timeout = way.faults.equal?(LASTING) ? "2" : "30"
      { "APPLICATION_NAME" => "properties", "BACKEND" => backend, "ENGINE" => plan.engine, "UPLOAD_INTERVAL" => "1", "SHUTDOWN_TIMEOUT" => timeout,
        "REPORT_PID" => "true", **where }.transform_keys { |name| "RPERF_PUSH_#{name}" }
    end

    def spawn_and_wait(plan, way, env)
      home = path("home")
      Dir.mkdir(home)
      pid = Process.spawn(env, *command_line(plan, way), chdir: home, umask: plan.world.umask, in: File::NULL, out: path("out"), err: path("err"), pgroup: true)
      waiter = Process.detach(pid)
      outside = Outside.new(@folder, pid, plan) if way.outside
      outside&.public_send(way.outside)
      hangs = !waiter.join(MAX_WAIT)
      Process.kill(:KILL, -pid) if hangs
      outside&.finish
      waiter.value
    end

    # --- what there is afterwards

    def truth
      File.readlines(path("truth"), chomp: true).map { |line| JSON.parse(line, symbolize_names: true) }
    rescue Errno::ENOENT
      []
    end

    def takes(way, server) = [*inner(way), *(server ? stored(server, way) : command(way)), *outside(way)]

    # Each session in the middle has a span of its own.
    def inner(way)
      return [] unless way.inner
      return [take(way.inner, way.modes, way.inner == :inherit ? :all : :root, "inner")] unless way.inner == :middle

      datas("inner").map { |data| Take.new(source: way.inner, modes: way.modes, reach: :root, span: span([data]), datas: [data]) }
    end

    def command(way)
      return [] unless way.command

      [take(way.command, way.command == :run ? TIMES : way.modes, way.command == :trace ? :root : :all, "command")]
    end

    def outside(way) = way.outside ? [take(way.outside, TIMES, :root, "outside").then { |one| one.with(span: span(one.datas)) }] : []
    def take(source, modes, reach, folder) = Take.new(source:, modes:, reach:, span: nil, datas: datas(folder))
    def datas(folder) = Dir[path("#{folder}/*")].select { |file| File.file?(file) }.sort.map { |file| RperfPush::Formats.load(file) }

    # Parca has labels beside a profile, not in it.
    def stored(server, way)
      datas = server.accepted.map do |one|
        data = RperfPush::Formats.decode(one.raw, "a push")
        beside = one.labels.to_h.slice("task").transform_keys(&:to_sym)
        beside.empty? ? data : { **data, label_sets: RperfPush::Values.label_sets(data).map { |set| set.merge(beside) } }
      end
      [Take.new(source: way.command, modes: way.modes, reach: :all, span: nil, datas:)]
    end

    # @return [Array(Integer, Integer)] of nothing nothing was recorded
    def span(datas)
      return [0, 0] if datas.empty?

      [datas.map { |data| data[:start_time_ns] }.min, datas.map { |data| data[:start_time_ns] + data[:duration_ns] }.max]
    end

    # The folder for a user's sessions stays, and is empty.
    def left = Dir.glob("**/*", File::FNM_DOTMATCH, base: path("tmp")).reject { |name| name.end_with?(".") || name == "rperf-push-#{Process.uid}" }
  end
end
