# frozen_string_literal: true

require "rperf_push"
require "rperf_push/remote/control_client"
require_relative "support/listening_process"

# Whom the commands believe that look into processes: a socket may be of another user, or answer with anything, or never.
RSpec.describe "What commands believe of a control socket", :once do
  include CommandLine

  let(:sockets) { FileUtils.mkdir_p("#{tmpdir}/sockets", mode: 0o700).first }

  after { @children&.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) } }

  def command(*arguments, **env) = rperf_push(*arguments, env: { "RPERF_PUSH_CONTROL_SOCKET" => sockets, **env.transform_keys(&:to_s) }, timeout: 60)

  # A process that listens at PID.sock of the folder, and runs the code for each peer.
  def listener(code, name: "\#{Process.pid}.sock", folder: sockets, user: nil)
    read, write = IO.pipe
    program = <<~RUBY
      require "socket"
      require "json"
      #{"Process::Sys.setgid(#{user}); Process::Sys.setuid(#{user})" if user}
      def message(kind, text) = [text.bytesize, kind].pack("Na") + text
      server = UNIXServer.new("#{folder}/#{name}")
      $stdout.puts "ready"
      $stdout.close
      loop { peer = server.accept; Thread.new { (#{code}) rescue nil; peer.close } }
    RUBY
    pid = Process.spawn(RubyProgram::WITHOUT_GEMS, RbConfig.ruby, "-e", program, out: write, err: File::NULL)
    write.close
    (@children ||= []) << pid
    expect(read.gets).to eq("ready\n")
    pid
  ensure
    read.close
  end

  def document(pid = 1, **over) = JSON.generate({ pid:, ruby: "3.4", application: nil, engine: nil, last_error: nil, **RperfPush::ControlShape::NUMBERS.to_h { |name| [name.to_sym, 0] }, **over })
  def answer(text, kind = "J") = "peer.gets; peer.write(message(#{kind.dump}, #{text.dump}.sub('\"pid\":1', '\"pid\":' + Process.pid.to_s)))"

  NONE = /\Ano process of this user listens/

  it "lists a process that says what one of this version says" do
    pid = listener(answer(document(application: "shop")))
    expect(command("ps").out).to match(/^#{pid} +shop/)
  end

  odd = { "another process" => "{\"pid\":0}", "no JSON" => "nonsense", "a list" => "[1]", "deep" => "[" * 200, "nothing" => "", "no numbers" => "{\"pid\":1}",
          "texts as numbers" => :threads_known, "numbers without end" => "{\"pid\":1,\"last_error_at_ns\":#{"9" * 400}}" }
  odd.each do |what, text|
    it "ends in a line when the answer is #{what}" do
      text = document(1, text => "many") if text.is_a?(Symbol)
      pid = listener(answer(text))
      ended = command("ps")
      expect([ended.out, ended.err, ended.status]).to match([NONE, "", 0])
      %W[stacks attach top live].each do |name|
        ended = command(name, pid.to_s)
        expect([ended.out, ended.status]).to eq(["", 1])
        expect(ended.err).to match(/\Arperf-push: #{name}: no process #{pid} listens.*\n\z/)
      end
    end
  end

  # It is believed, but what follows is odd.
  { "J" => ["{}", "[]", "{\"threads\":1}", "{\"facts\":1,\"columns\":2}"], "P" => ["nonsense", "\x1F\x8Bnonsense"], "E" => ["no\nway\e[31m"], "Q" => ["?"], "Z" => [""] }.each do |kind, texts|
    texts.each do |text|
      it "ends in a line when #{kind} #{text.inspect} follows" do
        second = "message(#{kind.dump}, #{text.dump}.b)"
        pid = listener("verb = peer.gets.split[1]; peer.write(verb == 'ps' ? message('J', #{document.dump}.sub('\"pid\":1', '\"pid\":' + Process.pid.to_s)) : message('J', '{}') + #{second} * 3)")
        [["stacks"], ["attach", "-s", "1", "-o", "#{tmpdir}/p.json"], ["attach", "--trace", "-s", "0.1", "-o", "#{tmpdir}/t.json"], ["top", "--count", "1"]].each do |name, *options|
          ended = command(name, *options, pid.to_s)
          expect(ended.err).not_to match(/\.rb:\d+/), ended.err
          expect(ended.err.lines.size).to be <= 2
          expect(ended.status).to eq(1).or eq(0)
        end
      end
    end
  end

  it "waits for a message as a whole, not for each of its bytes" do
    pid = listener("peer.gets; #{document.dump}.then { |text| message('J', text + ' ' * 1000) }.each_char { |c| peer.write(c); sleep 2 }")
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    expect(command("ps").out).to match(NONE)
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began).to be < 45 # the message would take 2000 s
    expect(pid).to be_positive
  end

  it "waits for no process that takes no peer, and keeps nothing that is too long" do
    backlog = UNIXServer.new("#{sockets}/backlog.sock").tap { |server| server.listen(0) }
    peers = Array.new(4) { Socket.new(:UNIX, :STREAM) }
    peers.each { |peer| peer.connect_nonblock(Socket.sockaddr_un("#{sockets}/backlog.sock"), exception: false) rescue nil }
    listener("peer.gets; peer.write([3_000_000_000, 'J'].pack('Na')); loop { peer.write('x' * 65536) }", name: "long.sock")
    good = listener(answer(document))
    expect(command("ps").out).to match(/^#{good} /)
  ensure
    [backlog, *peers].compact.each(&:close)
  end

  it "says of a folder that other users may write into what to do, and asks nobody there" do
    listener(answer(document))
    File.chmod(0o777, sockets)
    [%w[ps], %w[stacks 1]].each do |arguments|
      ended = command(*arguments)
      expect([ended.out, ended.err, ended.status]).to eq(["", "rperf-push: #{arguments.first}: #{sockets}: other users may write into this folder: chmod go-w\n", 1])
    end
  end

  it "refuses to listen in such a folder, and profiles all the same" do
    File.chmod(0o777, sockets)
    out, err, = run_ruby('require "rperf_push/control"; p RperfPush::Control.path', env: { "RPERF_PUSH_CONTROL_SOCKET" => sockets })
    expect([out, err]).to match(["nil\n", /no control socket.*#{sockets}: other users may write into it/])
  end

  describe "of another user", if: Process.euid.zero? do
    let(:foreign) { "/tmp/rperf-push-0-#{Process.pid}" }

    before { [tmpdir, sockets].each { |path| File.chmod(0o755, path) } }

    # Put there while the folder was open to all.
    it "asks nothing of a socket that is not of the user whom the folder belongs to" do
      File.chmod(0o777, sockets)
      pid = listener("File.write('#{sockets}/asked', peer.gets.to_s); #{answer(document(application: "forged"))}", user: 65_534)
      File.chmod(0o755, sockets)
      expect(command("ps").out).to match(NONE)
      expect(command("stacks", pid.to_s).err).to include("no process #{pid} listens")
      expect(File.exist?("#{sockets}/asked") ? File.read("#{sockets}/asked") : "").to eq("")
    end

    it "is not kept from a snapshot by it" do
      program = ListeningProcess.new(sockets, <<~RUBY)
        require "rperf_push/viewer"
        viewer = RperfPush::Viewer.new(nil, allow: ->(_) { true })
        puts "ready"
        gets
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        at = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.3
        nil until Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) > at
        puts viewer.take_snapshot!, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      RUBY
      File.chmod(0o777, sockets)
      listener("peer.gets; loop { peer.write('x'); sleep 2 }", user: 65_534)
      File.chmod(0o755, sockets)
      program.say("go")
      expect(program.line).to eq("true")
      expect(Float(program.line)).to be < 8 # it would wait for ten seconds and more
    ensure
      program&.stop
    end

    it "is skipped in root's `ps` where the folder has another user's name, or is a link" do
      Dir.mkdir(foreign)
      File.chown(65_534, 65_534, foreign)
      listener(answer(document(application: "forged")), folder: foreign, user: 65_534)
      link = "/tmp/rperf-push-#{Process.pid + 100_000}"
      File.symlink(foreign, link)
      folders = ["/tmp/rperf-push-#{Process.pid + 200_000}", link]
      File.rename(foreign, folders.first)
      expect(rperf_push("ps", env: { "XDG_RUNTIME_DIR" => nil }).out).not_to include("forged")
      expect(folders.map { |path| RperfPush::ControlFolder.new(path).trusted? }).to eq([false, false])
    ensure
      [link, *folders].compact.each { |path| FileUtils.rm_rf(path) }
    end
  end
end
