# frozen_string_literal: true

require "json"
require "rperf_push"

# A daemon keeps the environment in which `record` has started it. When nobody records any more, it and what it starts have nothing to
# do with the session.
RSpec.describe "A daemon that outlives rperf-push record", :once, :waiting do
  include CommandLine

  busy = <<~'RUBY'
    require "json"
    def busy(seconds)
      from = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - from < seconds
    end
    def traces = ENV.select { |name, value| name.start_with?("RPERF_PUSH_") || value.include?("rperf_push") }
    def write(name, text) = File.write("#{__dir__}/.#{name}", text) && File.rename("#{__dir__}/.#{name}", "#{__dir__}/#{name}")
  RUBY

  # It starts Rubies when it is told that nobody records any more, and then waits for its own session to be over.
  daemon = <<~'RUBY'
    fork do
      Process.daemon(true, true)
      Process.setrlimit(:CPU, 100) # where the example fails, nobody ends it
      write("begun", traces.size)
      busy 0.02 until File.exist?("#{__dir__}/go")
      below = Array.new(2) { IO.popen(["ruby", "-e", "p ENV.values_at('RUBYOPT', 'RUBYLIB'), ENV.keys.grep(/RPERF_PUSH/), defined?(RperfPush)"], err: %i[child out], &:read) }
      busy 0.02 until traces.empty?
      write("seen", JSON.generate([below, ENV.values_at("RUBYOPT", "RUBYLIB")]))
    end
  RUBY

  define_method(:program) { |name, code| "#{tmpdir}/#{name}.rb".tap { |path| File.write(path, "#{busy}#{code}") } }

  def env = { **CommandLine.silence, "TMPDIR" => tmpdir, "RUBYOPT" => "-W1", "RUBYLIB" => "/mine" }
  def command(*arguments) = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, *arguments]
  def sessions = Dir.glob("#{tmpdir}/rperf-push-*/session-*")
  def file(name) = wait_until(name) { File.exist?("#{tmpdir}/#{name}") && File.read("#{tmpdir}/#{name}") }

  def seen
    File.write("#{tmpdir}/go", "")
    JSON.parse(file("seen"))
  end

  # That nothing of the session is left, nor has been said. The first program may have had to look who the root is.
  def expect_nothing_of(seen)
    mine = ["-W1", "/mine"]
    expect(seen).to match([[start_with("#{mine.inspect}\n[]\n"), "#{mine.inspect}\n[]\nnil\n"], mine])
    expect(sessions).to eq([])
  end

  it "has an environment without it, and so has what it starts" do
    _, err, status = run_program(command("record", "-o", "#{tmpdir}/p.json", program("root", "#{daemon}sleep 0.02 until File.exist?(\"#{tmpdir}/begun\")")), env:)
    expect([err, status.exitstatus]).to eq(["", 0])
    expect(file("begun").to_i).to be > 5
    expect_nothing_of(seen)
  end

  it "takes no part in it when record was killed, and leaves nothing of it" do
    pid = Process.spawn(env, *command("record", "-o", "#{tmpdir}/p.json", program("root", "#{daemon}sleep")), pgroup: true)
    file("begun")
    expect(sessions.size).to eq(1)
    Process.kill(:KILL, pid)
    Process.wait(pid)
    expect_nothing_of(seen)
  ensure
    Process.kill(:KILL, -pid) # the command, which is no daemon
  end

  it "is recorded while record goes on, and so is what it was before" do
    code = "reader, writer = IO.pipe; fork { busy 0.3; Process.daemon(true, true); busy 0.3; at_exit { writer.puts }; exit }; writer.close; reader.read; sleep 0.5"
    _, err, status = run_program(command("record", "-o", "#{tmpdir}/p.json", program("root", code)), env:)
    expect([err, status.exitstatus]).to eq(["", 0])
    data = RperfPush.load("#{tmpdir}/p.json")
    of_busy = data[:aggregated_samples].select { |frames,| frames.any? { |frame| frame[1] == "Object#busy" } }
    times = of_busy.group_by { |sample| data[:label_sets][sample[3]][:"%pid"] }.transform_values { |samples| samples.sum { |sample| sample[1] } / 1e9 }
    expect(times.values).to contain_exactly(be_between(0.2, 0.4), be_between(0.2, 0.4))
  end

  # A syntax error in what RUBYOPT loads would keep a program from running that has a Ruby of its own.
  it "loads what any Ruby can read, whatever it then says of its version" do
    require "parser/ruby24"
    first = %w[autostart inherited session].map { |name| "#{RubyProgram::LIB}/rperf_push/#{name}.rb" }
    errors = first.filter_map do |path|
      parser = Parser::Ruby24.new
      parser.diagnostics.all_errors_are_fatal = true
      parser.parse(Parser::Source::Buffer.new(path, source: File.read(path, encoding: "UTF-8"))) && nil
    rescue Parser::SyntaxError => e
      "#{path}:#{e.diagnostic.location.line}: #{e.message}"
    end
    expect(errors).to eq([])
  end
end
