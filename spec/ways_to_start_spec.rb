# frozen_string_literal: true

require_relative "support/pprof_profile"

# A program may come to the profiler by whichever way people start Ruby.
RSpec.describe "The gem, loaded", :interpreted, :waiting do
  root = File.expand_path("..", __dir__)

  program = <<~'RUBY'
    RperfPush.configure! { |config| config.directory = ENV.fetch("FOLDER"); config.application_name = "way" }
    def way_work
      till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.25
      nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    end
    way_work
  RUBY

  define_method(:run_in) do |*command, stdin: "", env: {}|
    run_program([RbConfig.ruby, "-I", RubyProgram::LIB, "-r", "rperf_push", *command], env: { "FOLDER" => tmpdir, **env }, stdin:)
  end

  def methods_seen
    Dir["#{tmpdir}/way-*.pb.gz"].flat_map { |path| PprofProfile.read(path).samples.flat_map { |sample| sample.stack.map(&:name) } }.uniq
  end

  it "says nothing with ruby -w, whichever of its files" do
    files = Dir["#{root}/lib/**/*.rb"]
    code = <<~'RUBY'
      ARGF.each_line(chomp: true) { |path| RubyVM::InstructionSequence.compile_file(path) }
      %w[cli control viewer rack tags active_job sidekiq pprof_endpoint autostart].each { |name| require "rperf_push/#{name}" }
      RperfPush::CLI::COMMANDS.each_key { |name| require "rperf_push/cli/commands/#{name}" unless name == "help" }
      RperfPush.start { RperfPush.label(a: 1) { 1 + 1 } }
      puts "done"
    RUBY
    env = { "RPERF_PUSH_ENABLED" => "false", "RUBYOPT" => nil }
    out, err, status = run_in("-w", "-e", code, stdin: files.join("\n"), env:)
    expect([out, err, status.exitstatus]).to eq(["done\n", "", 0])
  end

  {
    "config.directory = FOLDER" => [{}, "way is profiled: backend directory at FOLDER, engine signal (the kernel ticks every N ms), 99 Hz, every 10 s"],
    "config.server_address, config.engine, config.frequency = 'http://ada:secret@127.0.0.1:1/behind', :safepoint, 19" =>
      [{ "RPERF_PUSH_UPLOAD_INTERVAL" => "60" }, "way is profiled: backend pyroscope at http://127.0.0.1:1/behind, engine safepoint, 19 Hz, every 60 s"],
    "config.enabled = false" => [{}, "off: enabled is false in the configuration"],
    "" => [{ "RPERF_PUSH_ENABLED" => "no" }, "off: RPERF_PUSH_ENABLED is no"]
  }.each do |settings, (env, line)|
    it "says in a line what it profiles, how, and where that goes, or why not: #{line}" do
      out, err, status = run_in("-r", "logger", "-e", <<~RUBY, env: { "RPERF_PUSH_SHUTDOWN_TIMEOUT" => "0.1", **env })
        logger = Logger.new($stdout, formatter: ->(level, _, _, text) { "\#{level} \#{text}\\n" })
        RperfPush.configure! { |config| config.logger, config.application_name = logger, "way"; #{settings.gsub("FOLDER", tmpdir.dump)} }
        logger.level = Logger::FATAL
      RUBY
      expect([out.sub(/every [\d.]+ ms/, "every N ms"), err, status.exitstatus]).to eq(["INFO [rperf-push] #{line.gsub("FOLDER", tmpdir)}\n", "", 0])
    end
  end

  it "profiles what is typed into irb" do
    home = { "HOME" => tmpdir, "RUBYOPT" => nil, "TERM" => "dumb" }
    out, err, status = run_in("-S", "irb", "-f", stdin: "#{program}\nputs [RperfPush.running?, RperfPush.flush].inspect\n", env: home)
    expect(status).to be_success, err
    expect(out.lines(chomp: true)).to include("[true, true]")
    expect(err.lines.grep(/\[rperf-push\]/)).to eq([])
    expect(methods_seen).to include("Object#way_work")
  end

  it "profiles a rake task, and leaves alone how it ends" do
    File.write("#{tmpdir}/Rakefile", "#{program.lines[0..-2].join}\ntask(:good) { way_work }\ntask(:bad) { abort 'no' }\n")
    ended = %w[good bad].map { |task| run_in("-S", "rake", "-f", "#{tmpdir}/Rakefile", task).then { |_, err, status| [err, status.exitstatus] } }
    expect(ended).to eq([["", 0], ["no\n", 1]])
    expect(methods_seen).to include("Object#way_work")
  end

  it "may be configured from two threads at once, before either is done" do
    out, err, status = run_in("-e", <<~RUBY)
      fork_lock = Queue.new
      threads = 2.times.map { Thread.new { fork_lock.pop; #{program.lines.first.chomp} } }
      2.times { fork_lock << true }
      p threads.map(&:value)
      #{program.lines.drop(1).join}
      p Dir["/proc/self/task/*/comm"].filter_map { |path| File.read(path).chomp rescue nil }.grep(/^rpp-/).sort
    RUBY
    expect([err, status.exitstatus]).to eq(["", 0])
    expect(out).to eq("[true, true]\n[\"rpp-collector\", \"rpp-control\", \"rpp-uploader\"]\n")
    expect(methods_seen).to include("Object#way_work")
  end

  loaded_already = "rperf_push is loaded already in this process: it profiles the code of every Ruby::Box, so require it in one of them only"

  it "is the only one of its process: a copy of its library, with variables of its own, says so" do
    out, err, status = run_in("-e", <<~'RUBY')
      library = $LOADED_FEATURES.grep(%r{rperf_push/[^/]+/rperf_push\.\w+\z}).fetch(0)
      copy = "#{ENV.fetch("FOLDER")}/rperf_push#{File.extname(library)}"
      File.binwrite(copy, File.binread(library))
      RperfPush.configure! { |config| config.directory = ENV.fetch("FOLDER") }
      begin
        require copy
      rescue LoadError => e
        puts e.message
      end
      p RperfPush.running?, ENV.instance_variables
    RUBY
    expect([out.lines(chomp: true), err, status.exitstatus]).to eq([[loaded_already, "true", "[]"], "", 0])
  end

  it "profiles what all boxes do, and says in a second Ruby::Box that it does" do
    skip "this Ruby has no boxes" unless defined?(Ruby::Box)
    File.write("#{tmpdir}/boxed.rb", "#{program.lines[1..-2].join.gsub("way_work", "boxed_work")}boxed_work\n")
    out, err, status = run_in("-W:no-experimental", "-e", <<~RUBY, env: { "RUBY_BOX" => "1" })
      #{program}
      box = Ruby::Box.new
      begin
        box.require("rperf_push")
      rescue LoadError => e
        puts e.message
      end
      box.require("#{tmpdir}/boxed.rb")
      p RperfPush.running?
    RUBY
    expect(status).to be_success, err
    expect(out.lines(chomp: true)).to eq([loaded_already, "true"])
    expect(methods_seen).to include("Object#way_work", "Object#boxed_work")
  end

  it "costs no thread, descriptor or file when it is off" do
    out, err, status = run_in("-e", <<~'RUBY', env: { "RPERF_PUSH_ENABLED" => "false" })
      now = -> { %w[task fd].map { |kind| Dir.children("/proc/self/#{kind}").size } }
      before = now.call
      p RperfPush.configure! { |config| config.directory = ENV.fetch("FOLDER") }, RperfPush.running?, RperfPush.flush, RperfPush.label(a: 1) { 2 }
      p now.call == before
    RUBY
    expect([out, err, status.exitstatus]).to eq(["true\nfalse\nfalse\n2\ntrue\n", "", 0])
    expect(Dir.children(tmpdir)).to eq([])
  end
end
