# frozen_string_literal: true

require "json"
require "net/http"
require "rbconfig"
require_relative "../support/held_port"
require_relative "../support/pprof_profile"

# Servers as their users start them: of each process the windows arrive, the last one too, and none has a thread or a descriptor of
# ours too many.
RSpec.describe "A server", :once, :waiting, :long do
  app = Burning::CODE + <<~'RUBY'
    require "json"
    require "rperf_push"
    RperfPush.configure! unless RperfPush.running?
    at_exit { File.write("exit-#{Process.pid}", "") } # before the profiler's own
    def last_work = burn
    # A descriptor by what it is; it may be gone by now. Sockets are the server's, as the profiler writes files.
    def kind(fd) = File.readlink("/proc/self/fd/#{fd}")
    def descriptors = Dir.children("/proc/self/fd").filter_map { |fd| kind(fd) rescue nil }.grep(/eventfd|timerfd/).tally
    def threads = Dir["/proc/self/task/*/comm"].filter_map { |path| File.read(path).chomp rescue nil }.grep(/\Arpp-/).sort
    run(lambda do |env|
      env["PATH_INFO"] == "/last" ? last_work : sleep(0.05)
      [200, { "content-type" => "application/json" }, [JSON.generate([Process.pid, threads, descriptors, RperfPush.stats[:engine]])]]
    end)
  RUBY

  answer_class = Struct.new(:pid, :threads, :descriptors, :engine)

  define_method(:ask) do |path|
    answer_class.new(*JSON.parse(Net::HTTP.get(URI("#{@url}#{path}"))))
  rescue SystemCallError, EOFError, Net::ReadTimeout
    nil # it is starting, or changes its workers
  end

  # Requests, some at a time lest one worker takes them all, until the block is satisfied with the answers so far.
  define_method(:ask_until) do |path, &enough|
    answers = []
    wait_until("the server's answers", timeout: 120) do
      enough.call(answers.concat(Array.new(4) { Thread.new { ask(path) } }.filter_map(&:value)))
    end
    answers
  rescue RuntimeError => e
    raise e, "#{e.message}:\n#{log}"
  end

  define_method(:whole_log) { File.exist?("#{tmpdir}/log") ? File.read("#{tmpdir}/log") : "" }
  define_method(:log) { whole_log.lines.last(20).join }

  # @yieldparam pid [Integer] of the server's first process
  define_method(:serve) do |*command, stop:, configuration: "", files: {}, env: {}, &block|
    port = HeldPort.new
    @url = "http://127.0.0.1:#{port}"
    { "config.ru" => app, "server.rb" => configuration, **files }.each { |name, text| File.write("#{tmpdir}/#{name}", text.gsub("PORT", port.to_s)) }
    env = { "RUBYLIB" => RubyProgram::LIB, "RPERF_PUSH_BACKEND" => "directory", "RPERF_PUSH_DIRECTORY" => "#{tmpdir}/profiles",
            "RPERF_PUSH_FREQUENCY" => "250", "RPERF_PUSH_OVERHEAD_LIMIT" => "1", **env }
    arguments = command.map { |part| part.gsub("PORT", port.to_s) }
    pid = Process.spawn(env, RbConfig.ruby, "-S", *arguments, chdir: tmpdir, in: File::NULL, %i[out err] => "#{tmpdir}/log", pgroup: true)
    block.call(pid)
  ensure
    if pid
      Process.kill(stop, pid)
      wait_for(pid, 60) or raise "it did not end:\n#{log}"
    end
  end

  # @return [Hash{Integer => Array<String>}] process => methods that did work there, in all of its windows
  define_method(:works) do
    Dir["#{tmpdir}/profiles/*.pb.gz"].group_by { |path| path[/-(\d+)-\d+\.pb/, 1].to_i }.transform_values do |paths|
      paths.flat_map { |path| PprofProfile.read(path).samples.flat_map { |sample| sample.stack.map(&:name) } }.filter_map { |name| name[/\w+_work\z/] }.uniq
    end
  end

  define_method(:expect_ours) do |answers|
    expect(answers.map(&:threads).uniq).to eq([%w[rpp-collector rpp-control rpp-uploader]])
    expect(answers.map(&:engine).uniq).to eq(%w[signal]) # fork_worker traps SIGURG
  end

  # Two processes, each of which has worked at last.
  define_method(:last_of_two) { ask_until("/last") { |answers| answers.map(&:pid).uniq.size == 2 } }

  it "like Unicorn delivers what each worker saw, the last too" do
    skip_where_unicorn_crashes
    answers = []
    configuration = "worker_processes 2\npreload_app true\nlisten '127.0.0.1:PORT'\n"
    serve("unicorn", "-c", "server.rb", "config.ru", stop: :QUIT, configuration:) { answers = last_of_two }
    expect_ours(answers)
    expect(works.values_at(*answers.map(&:pid).uniq)).to all(include("last_work"))
  end

  it "like Pitchfork does so through ten generations of forks of forks" do
    configuration = "worker_processes 2\nlisten '127.0.0.1:PORT'\ntimeout 120\nspawn_timeout 120\n" # on a busy machine a start takes its time
    generations = []
    serve("pitchfork", "-c", "server.rb", "config.ru", stop: :QUIT, configuration:) do |monitor|
      generations << last_of_two
      9.times do
        before = generations.flatten.map(&:pid)
        wait_until("the monitor to know its workers") { before.all? { |pid| whole_log.match?(/ pid=#{pid}\b.* registered$/) } }
        Process.kill(:USR2, monitor)
        ask_until("/early") { |answers| (answers.last(6).map(&:pid) - before).uniq.size == 2 }
        generations << ask_until("/last") { |answers| (answers.map(&:pid) - before).uniq.size == 2 }
      end
    end
    expect_ours(generations.flatten)
    workers = generations.map { |answers| answers.map(&:pid) }.each_cons(2).map { |before, after| after - before }
    expect(workers.map { |pids| pids.uniq.size }).to eq([2] * 9)
    expect(works.values_at(*generations.flatten.map(&:pid).uniq)).to all(include("last_work"))
    expect(generations.last.last.descriptors).to eq(generations[1].last.descriptors)
  end

  # Requests that come all the time, until the block is done.
  #
  # @return [Array<Exception, String>] how those ended that were not answered as they should
  define_method(:failures_under_load) do |&block|
    done = false
    clients = Array.new(2) do
      Thread.new do
        failures = []
        until done
          begin
            response = Net::HTTP.get_response(URI("#{@url}/"))
            failures << response.code unless response.is_a?(Net::HTTPOK)
          rescue StandardError => e
            failures << e
          end
          sleep 0.01
        end
        failures
      end
    end
    block.call
    done = true
    clients.flat_map(&:value)
  end

  cluster = <<~RUBY
    bind "tcp://127.0.0.1:PORT"
    workers 2
    threads 2, 2
    preload_app! false
    raise_exception_on_sigterm false
    worker_shutdown_timeout 20 # Puma 8.0 sometimes waits for ever where a worker closes its pipe, profiled or not
  RUBY

  # signal => the workers that it replaces: all, or all but the one that others are forked from
  {
    "through ten phased restarts" => ["", [:USR1] * 10],
    "with fork_worker through phased restarts and reforks" => ["fork_worker 0\n", %i[URG URG USR1 URG URG]]
  }.each do |title, (more, signals)|
    it "like a Puma cluster does so under load, #{title}" do
      generations = []
      failures = nil
      serve("puma", "-C", "server.rb", "config.ru", stop: :TERM, configuration: cluster + more) do |master|
        generations << last_of_two
        failures = failures_under_load do
          signals.each do |signal|
            before = generations.flatten.map(&:pid)
            replaced = signal == :USR1 ? 2 : 1
            Process.kill(signal, master)
            generations << ask_until("/last") { |answers| (answers.map(&:pid) - before).uniq.size == replaced }
          end
        end
      end
      expect(failures).to eq([])
      expect_ours(generations.flatten)
      killed, ended = generations.flatten.map(&:pid).uniq.partition { |pid| !File.exist?("#{tmpdir}/exit-#{pid}") }
      expect(works.values_at(*ended)).to all(include("last_work"))
      expect(killed.size).to be <= ended.size # by Puma, as they did not begin to end
      expect(generations.last.last.descriptors).to eq(generations.first.last.descriptors)
    end
  end

  it "like Falcon does so with its fibers" do
    answers = []
    # Falcon kills workers that have not ended one second after it asked them, which is too early on a busy machine.
    command = %w[falcon serve --bind http://127.0.0.1:PORT --count 2 --graceful-stop 30 -c config.ru]
    serve(*command, stop: :INT) do
      answers = last_of_two
      wait_until("Falcon") { log.include?("Controller started") } # who interrupts it before has its workers killed
    end
    expect_ours(answers)
    expect(works.values_at(*answers.map(&:pid).uniq)).to all(include("last_work"))
  end

  slow_app = <<~'RUBY'
    require "rperf_push/rack"
    RperfPush.configure!
    def fast_work = sleep(0.03)
    def slow_work = sleep(6.1)
    def refused_work = sleep(0.03)
    def failed_work = (sleep(0.03); raise("on purpose"))
    use RperfPush::RackMiddleware
    run(lambda do |env|
      __send__("#{env["PATH_INFO"].delete_prefix("/")}_work")
      [env["PATH_INFO"] == "/refused" ? 422 : 200, { "content-type" => "text/plain" }, ["done"]]
    end)
  RUBY

  it "like Puma says of samples how their requests ended" do
    env = { "RPERF_PUSH_OUTCOME_LABELS" => "true", "RPERF_PUSH_SLOW_REQUESTS" => "6", "RPERF_PUSH_UPLOAD_INTERVAL" => "3600" }
    codes = nil
    serve("puma", "-b", "tcp://127.0.0.1:PORT", "config.ru", stop: :TERM, files: { "config.ru" => slow_app }, env:) do
      wait_until("Puma") { log.include?("Listening") }
      codes = %w[fast slow refused failed].map { |path| Net::HTTP.get_response(URI("#{@url}/#{path}")).code }
    end
    expect(codes).to eq(%w[200 200 422 500])
    samples = Dir["#{tmpdir}/profiles/*.pb.gz"].flat_map { |path| PprofProfile.read(path).samples }
    by_work = samples.group_by { |sample| sample.stack.map(&:name).join(" ")[/(\w+)_work/, 1] }.except(nil)
    outcomes = by_work.transform_values { |of_work| of_work.map { |sample| sample.labels.values_at("endpoint", "status", "slow") }.uniq }
    expect(outcomes).to eq("fast" => [["GET /fast", "2xx", "false"]], "slow" => [["GET /slow", "2xx", "true"]],
                           "refused" => [["GET /refused", "4xx", "false"]], "failed" => [["GET /failed", "5xx", "false"]])
  end

  it "like Puma in one process does so" do
    answers = []
    serve("puma", "-b", "tcp://127.0.0.1:PORT", "config.ru", stop: :TERM) { answers = ask_until("/last", &:any?) }
    expect_ours(answers)
    expect(works.fetch(answers.first.pid)).to include("last_work")
  end

  it "like Puma does so when a hot restart has it replace itself" do
    serve("puma", "-b", "tcp://127.0.0.1:PORT", "config.ru", stop: :TERM, env: { "RPERF_PUSH_UPLOAD_INTERVAL" => "3600" }) do |puma|
      ask_until("/last", &:any?)
      Process.kill(:USR2, puma)
      wait_until("the restarted Puma") { whole_log.scan("Puma starting").size == 2 || whole_log.include?("Deadlock?") }
      skip "Puma 8.0 sometimes ends with a deadlock here, profiled or not" if whole_log.include?("Deadlock?")
      ask_until("/last", &:any?)
    end
    profiles = Dir["#{tmpdir}/profiles/*.pb.gz"].map { |path| PprofProfile.read(path).samples.flat_map(&:stack).map(&:name) }
    expect(profiles).to contain_exactly(include(/last_work\z/), include(/last_work\z/)), whole_log
  end

  it "like a Puma cluster has the viewer as the docs set it up, and does not warn of its thread" do
    code = File.read(File.expand_path("../../docs/viewer.md", __dir__))[/^## Inside an application\n+```ruby\n(.*?)^```/m, 1]
    serve("puma", "-b", "tcp://127.0.0.1:PORT", "-C", "server.rb", "config.ru", stop: :TERM, configuration: "workers 2\npreload_app!\n",
                                                                                files: { "config.ru" => "#{code}#{app}" }) { last_of_two }
    expect(whole_log).to include("Preloading application")
    expect(whole_log).not_to include("WARNING")
  end

  # The guides of other profilers say to call `configure` in a hook of each worker. The master, which has the application loaded, has
  # done it by then.
  it "like a Puma cluster does so when master and workers configure, each" do
    answers = []
    configuration = <<~RUBY
      workers 2
      preload_app!
      before_worker_boot { RperfPush.configure! { |config| config.tags = { place: "worker" } } }
    RUBY
    serve("puma", "-b", "tcp://127.0.0.1:PORT", "-C", "server.rb", "config.ru", stop: :TERM, configuration:) { answers = last_of_two }
    expect_ours(answers)
    expect(works.values_at(*answers.map(&:pid).uniq)).to all(include("last_work"))
  end
end
