# frozen_string_literal: true

require "net/http"
require "rbconfig"
require "rperf_push"
require_relative "../support/held_port"

# Preforking servers as the command of `rperf-push record`: however they are ended, one profile has what each worker did.
RSpec.describe "rperf-push record", :once, :waiting do
  app = Burning::CODE + <<~'RUBY'
    def early_work = burn
    def last_work = burn
    run(lambda do |env|
      env["PATH_INFO"] == "/last" ? last_work : early_work
      [200, { "content-type" => "text/plain" }, [Process.pid.to_s]]
    end)
  RUBY
  servers = {
    puma: %w[puma --quiet --workers 2 --threads 1:1 --bind tcp://127.0.0.1:PORT config.ru],
    unicorn: %w[unicorn -c unicorn.rb config.ru]
  }

  define_method(:log) { File.read("#{tmpdir}/log").lines.last(20).join }

  # @yield while the server runs
  # @return [Process::Status] of the command
  define_method(:record) do |*command, &block|
    port = HeldPort.new
    @url = "http://127.0.0.1:#{port}"
    { "config.ru" => app, "unicorn.rb" => "worker_processes 2\nlisten '127.0.0.1:PORT'\n" }.each { |name, text| File.write("#{tmpdir}/#{name}", text.sub("PORT", port.to_s)) }
    arguments = command.map { |part| part.sub("PORT", port.to_s) }
    env = { **CommandLine.silence, "TMPDIR" => tmpdir }
    recorder = [RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "record", "-f", "99", "-o", "p.json.gz", RbConfig.ruby, "-S"]
    pid = Process.spawn(env, *recorder, *arguments, chdir: tmpdir, in: File::NULL, %i[out err] => "#{tmpdir}/log", pgroup: true)
    block.call(pid)
    wait_for(pid, 60).tap { |status| pid = nil if status } or raise "it did not end:\n#{log}"
  ensure
    Process.kill(:KILL, -pid) if pid
  end

  define_method(:ask) do |path|
    Net::HTTP.get(URI("#{@url}#{path}")).to_i
  rescue SystemCallError, EOFError
    nil # it is starting
  end

  # @return [Array<Integer>] the workers that have answered
  define_method(:ask_until) do |path, &enough|
    pids = []
    wait_until("the server's answers") do
      enough.call(pids |= Array.new(4) { Thread.new { ask(path) } }.filter_map(&:value))
    end
    pids
  rescue RuntimeError => e
    raise e, "#{e.message}:\n#{log}"
  end

  # Whether a window of each worker is there with such work in it.
  define_method(:in_windows?) do |pids, method|
    pids.all? { |pid| Dir.glob("#{tmpdir}/rperf-push-*/session-*/#{pid}-*.pb.gz").any? { |path| works(RperfPush.load(path)).value?([method]) } }
  end

  # @return [Hash{String, nil => Array<String>}] %pid => the methods that did work there
  define_method(:works) do |data|
    data[:aggregated_samples].group_by { |sample| data[:label_sets][sample[3]][:"%pid"] }.transform_values do |samples|
      samples.flat_map { |frames,| frames.map { |frame| frame[1] } }.filter_map { |name| name[/\w+_work\z/] }.uniq
    end
  end

  # Ctrl-C is a signal for all processes of the terminal; TERM is for the one that is asked to end.
  { INT: ->(pid) { Process.kill(:INT, -pid) }, TERM: ->(pid) { Process.kill(:TERM, pid) } }.each do |signal, ending|
    it "has the last requests to Puma's workers, which end in peace, after #{signal}" do
      pids = []
      status = record(*servers[:puma]) do |pid|
        pids = ask_until("/last") { |seen| seen.size == 2 }
        ending.call(pid)
      end
      expect(works(RperfPush.load("#{tmpdir}/p.json.gz")).slice(*pids.map(&:to_s))).to eq(pids.to_h { |pid| [pid.to_s, ["last_work"]] })
      expect(status.exitstatus).to eq(signal == :TERM ? 143 : 0)
      expect(Dir.glob("#{tmpdir}/rperf-push-*/*")).to eq([])
    end

    it "has the requests to Unicorn's workers, which end at once, up to the last two seconds before #{signal}" do
      skip_where_unicorn_crashes
      pids = []
      status = record(*servers[:unicorn]) do |pid|
        pids = ask_until("/") { |seen| seen.size == 2 && in_windows?(seen, "early_work") }
        ending.call(pid)
      end
      expect(works(RperfPush.load("#{tmpdir}/p.json.gz")).slice(*pids.map(&:to_s))).to eq(pids.to_h { |pid| [pid.to_s, ["early_work"]] })
      expect(status.exitstatus).to eq(0)
      expect(Dir.glob("#{tmpdir}/rperf-push-*/*")).to eq([])
    end
  end
end
