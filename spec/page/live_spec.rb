# frozen_string_literal: true

require "rperf_push/remote/live_feed"
require "rperf_push/cli"
require "rperf_push/cli/page_server"
require "rperf_push/web_ui/page_app"
require "net/http"
require_relative "../support/held_port"
require_relative "../support/live_page"

# The page that grows while processes run: what it samples is what they did, and where they are.
RSpec.describe "rperf-push live", :once do
  include Attaching
  include LivePage

  # Burns CPU time when it is told to, in the method that it is told. One thread sleeps for good, another one again and again.
  WORKER = <<~RUBY
    class Worker
      def wait = sleep
      def tick = loop { sleep 0.02 }
      def burn(seconds)
        began = clock
        nil while clock - began < seconds
        clock - began
      end
      def first = burn(0.5)
      def second = burn(0.3)
      def created = GC.stat(:total_allocated_objects)
      def objects = burn_objects.then { created }
      def burn_objects
        began = clock
        1000.times { Worker.new } while clock - began < 0.5
      end
      def clock = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
      def keep = fill.then { collect }
      def fill = 200.times { (@kept ||= []) << Array.new(1000) { Worker.new } && sleep(0.002) }
      def release_half = @kept.each { |batch| batch.reject!.with_index { |_, at| at.even? } }.then { collect }
      def release_all = @kept.clear.size.then { collect }
      def collect = 3.times { GC.start }
    end
    worker = Worker.new
    Thread.new { worker.wait }.name = "waiter"
    Thread.new { worker.tick }
    puts "ready"
    while (method = gets) do puts worker.public_send(method.chomp) end
  RUBY

  def working(**how) = super(WORKER, **how)
  def thread_in(method) = threads.find { |row| row[3].include?(method) }
  def until_recorded(*programs) = browser.until_true("the session") { says?("recorded", *programs) }

  # @return [Float, nil] milliseconds with a method on the stack, whatever file it is in
  def total(method)
    amounts = browser.rows.filter_map { |row| row[2].split if row[4] == method }
    amounts.sum { |number, unit| number.to_f * { "s" => 1e3, "ms" => 1, "µs" => 1e-3, "ns" => 1e-6 }.fetch(unit) } if amounts.any?
  end

  # @return [Float] milliseconds that it burnt
  def burn(program, method)
    program.say(method)
    program.line.to_f * 1000
  end

  # Chance may show less of a short time where cores are scarce, so they burn again, and more each time.
  # @param burnt [Float] milliseconds before
  # @return [Float] milliseconds that they have burnt when most of it is shown
  def burn_until_shown(what, *programs, method:, burnt: 0)
    wait_until(what) do
      burnt += programs.sum { |program| burn(program, method) }
      sleep 0.3 # three updates
      total("Worker##{method}").to_f > burnt * 0.7
    end
    burnt
  end

  # @return [Integer] objects that it has created by then
  def counted(program, method) = program.say(method).then { program.line.to_i }

  it "shows who creates objects, while they are created" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, view: "table", value: "alloc_objects")
      until_recorded(program)
      before = counted(program, "created")
      once = counted(program, "objects") - before
      shown = lambda do
        rows = browser.rows.to_h { |row| [row[4], row.values_at(0, 2).map { |text| text.delete(",").to_i }] }
        rows["Worker"] && [rows["Worker"].first, rows.fetch("Worker#burn_objects", [0, 0]).last]
      end
      created = once
      # On a busy machine there are windows without a sample: objects of those are nobody's.
      wait_until("the objects") do
        created = counted(program, "objects") - before
        shown.call&.all? { |number| number > once }
      end
      expect(shown.call).to all(be < 1.1 * created) # each is counted once
    end
  end

  it "shows what is alive, while it is made and until it has died" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, view: "table", value: "inuse_objects")
      until_recorded(program)
      alive = -> { browser.rows.find { |row| row[4] == "Worker" }&.first.to_s.delete(",").to_i }
      wait_until("what is kept") { counted(program, "keep") && alive.call.positive? } # on a busy machine there are windows without a sample
      counted(program, "keep")
      sleep 1 # ten updates
      all = alive.call
      counted(program, "release_half")
      browser.until_true("some of it to go") { alive.call.between?(1, all - 1) }
      counted(program, "release_all")
      browser.until_true("all of it to go") { alive.call < 0.1 * all } # the GC may find references to a few by chance
    end
  end

  it "lights where each thread is: one that sleeps at its sleep" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, view: "flame", value: "wall")
      row = browser.until_true("the thread that sleeps") { thread_in("Worker#wait") }
      expect(row[0]).to eq(program.pid.to_s)
      browser.until_true("its name") { thread_in("Worker#wait")[1].match?(/\A\d+ waiter\z/) }
      expect(row[2..]).to match(["blocked", start_with("Kernel#sleep ← Worker#wait")])
      browser.until_true("its box to be lit") { lit.include?("Kernel#sleep") }
      expect(lit).not_to include("Worker#wait")
      browser.run("[...document.querySelectorAll('#threads tr')].find((row) => row.innerText.includes('Worker#wait')).querySelectorAll('button')[1].click()")
      browser.until_true("only this thread") { browser.boxes.keys.grep(/Worker/) == ["Worker#wait"] }

      browser.show(url, view: "tree", value: "wall")
      browser.until_true("a row of the tree to be lit") { browser.run("document.querySelectorAll('table.calls tr.lit').length").positive? }
      expect(browser.requests).to all(start_with("http://127.0.0.1:").or(start_with("data:")).or(start_with("about:")))
    end
  end

  { "does not answer" => -> { sleep }, "cuts the connection" => -> { raise Errno::ECONNRESET } }.each do |title, names|
    it "goes on where a process #{title} when it is asked for the names of its threads" do
      windows = Thread::Queue.new
      asked = Thread::Queue.new
      bytes = RperfPush::Formats.encode({ mode: :cpu, aggregated_samples: [[[["a.rb", "a", 1]], 1, 1, 0]], label_sets: [{}] }, "a.pb", nil)
      client = Object.new
      client.define_singleton_method(:pid) { 1 }
      client.define_singleton_method(:connect) { |_verb, **, &block| block.call(Struct.new(:windows) { def read(**) = windows.pop }.new(windows)) }
      client.define_singleton_method(:ask) { |_verb| (asked << true).then { names.call } }
      feed = RperfPush::LiveFeed.new(interval_ms: 50)
      feed.audience.here
      feed.follow(client)
      3.times { windows << [:profile, bytes] }
      head = -> { feed.answer(0).then { |answer| JSON.parse(answer.byteslice(5, answer.unpack1("N"))) } }
      wait_until("three windows") { head.call["windows"].size == 3 }
      asked.pop
      expect(head.call["processes"].map { |one| one["state"] }).to eq(["asked"])
    end
  end

  it "grows by what a method burns, holds still while it is paused, and begins anew" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, view: "table", value: "cpu")
      until_recorded(program)
      burnt = burn_until_shown("what was burnt", program, method: "first")
      burnt = burn_until_shown("more of it", program, method: "first", burnt:)
      expect(total("Worker#first")).to be < burnt * 1.2

      browser.click("#pause")
      meanwhile = Array.new(5) { burn(program, "second") }.sum
      sleep 0.5 # five updates: were it not paused it would be seen
      expect(total("Worker#second")).to be_nil
      browser.click("#pause")
      browser.until_true("what came meanwhile") { total("Worker#second").to_f > meanwhile * 0.3 }

      sleep 0.5 # the last of it has come, too
      browser.click("#clear")
      browser.until_true("the beginning") { total("Worker#first").nil? && total("Worker#second").nil? }
      burn_until_shown("what comes then", program, method: "second")
      expect(total("Worker#first")).to be_nil
    end
  end

  it "says the total of now, and leaves what is selected or marked by keys as it is" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, value: "wall")
      browser.until_true("a box") { browser.boxes.keys.any? { |name| name.include?("Worker") } }
      before = browser.text(".status")
      expect(before).to match(/ of wall in all/)
      browser.until_true("another total") { browser.text(".status") != before }

      browser.run("document.querySelector('.flame').focus()")
      browser.press(:up)
      marked = browser.until_true("a marked box") { browser.run("document.querySelector('.frame.here')?.getAttribute('name')") }
      drawn = -> { browser.run("Number(document.body.dataset.drawn)") }
      drawn.call.then { |at| browser.until_true("two drawings") { drawn.call > at + 1 } }
      expect(browser.run("document.querySelector('.frame.here').getAttribute('name')")).to eq(marked)

      browser.run("getSelection().selectAllChildren(document.querySelector('main .legend'))")
      drawn.call.then { |at| sleep(1) && expect(drawn.call).to(be_within(1).of(at)) } # ten updates
      expect(browser.run("getSelection().toString()")).not_to eq("")
      browser.run("getSelection().removeAllRanges()")
      drawn.call.then { |at| browser.until_true("it to go on") { drawn.call > at } }
    end
  end

  it "shows the processes of a service as one, also those that come later, and what was when one has ended" do
    first = working(service: "shop")
    working(service: "another")
    live("--service", "shop") do |url|
      browser.show(url, view: "flame", value: "wall", tagroot: "%pid")
      browser.until_true("the first process") { browser.boxes.key?("[%pid: #{first.pid}]") }
      second = working(service: "shop")
      browser.until_true("the second process") { browser.boxes.key?("[%pid: #{second.pid}]") }
      browser.until_true("threads of both") { threads.map(&:first).uniq.sort == [first, second].map { |one| one.pid.to_s }.sort }
      browser.show(url, view: "table", value: "cpu")
      until_recorded(first, second)
      burnt = burn_until_shown("what both burnt", first, second, method: "first")

      second.stop
      browser.until_true("its end") { browser.text("#processes").include?("process #{second.pid} is not recorded any more: the process has gone") }
      browser.until_true("its threads to go") { threads.map(&:first).uniq == [first.pid.to_s] }
      expect(total("Worker#first")).to be > burnt * 0.7
    end
  end

  it "shows processes that are named, and those of a service beside them" do
    named, one = working, working(service: "shop")
    live(named.pid.to_s, one.pid.to_s, "--service", "shop") do |url|
      browser.show(url, view: "table", value: "cpu")
      until_recorded(named, one)
      expect(browser.run("document.title")).to include("shop, process #{named.pid}, #{one.pid}, live")
      burnt = burn_until_shown("what both burnt", named, one, method: "first")
      expect(total("Worker#first")).to be < burnt * 1.2 # nobody is followed twice
    end
  end

  it "shows a Puma cluster as one, each worker with its threads" do
    File.write("#{tmpdir}/puma.rb", "workers 2\nthreads 2, 2\npreload_app!\n")
    File.write("#{tmpdir}/config.ru", <<~RUBY)
      require "rperf_push"
      RperfPush.configure!
      class Site
        def answer(began) = (nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - began < 0.3)
        def call(_) = [200, {}, [answer(Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)).inspect, Process.pid.to_s]]
      end
      run Site.new
    RUBY
    server = HeldPort.new
    settings = { **env, **ListeningProcess::PROFILED, "RPERF_PUSH_DIRECTORY" => "#{tmpdir}/profiles", "RPERF_PUSH_APPLICATION_NAME" => "cluster" }
    pid = Process.spawn(settings, RbConfig.ruby, "-I", RubyProgram::LIB, "-S", "puma", "-C", "#{tmpdir}/puma.rb", "-b", "tcp://127.0.0.1:#{server}",
                        "#{tmpdir}/config.ru", out: "#{tmpdir}/puma.log", err: "#{tmpdir}/puma.log")
    wait_until("the cluster") { Dir["#{sockets}/*.sock"].size == 3 && TCPSocket.new("127.0.0.1", server.number).close.nil? rescue nil }
    live("--service", "cluster") do |url|
      browser.show(url, view: "table", value: "cpu")
      browser.until_true("the sessions of master and workers") { browser.text("#processes").scan(/process \d+ is recorded/).size == 3 }
      answers = []
      wait_until("what the workers burnt") do
        answers += Array.new(8) { Thread.new { Net::HTTP.get(URI("http://127.0.0.1:#{server}/")) } }.map(&:value)
        sleep 0.3 # three updates
        total("Site#answer").to_f > answers.size * 300 * 0.7
      end
      workers = answers.map { |answer| answer[/\d+\z/] }.uniq
      expect(total("Site#answer")).to be < answers.size * 300 * 1.3
      browser.show(url, view: "flame", value: "cpu", tagroot: "%pid")
      workers.each { |worker| browser.until_true("the worker #{worker}") { browser.boxes.key?("[%pid: #{worker}]") } }
    end
  ensure
    Process.kill(:TERM, pid) && Process.wait(pid) if pid
  end

  it "ends its session in the process when the command ends, and says so on the page" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url)
      browser.until_true("a thread") { threads.any? }
    end
    browser.until_true("what the page says") { browser.text(".problems").include?("the command has ended") }
    wait_for_another_session(client_of(program))
  end

  it "says in a line what is wrong" do
    { [] => "live needs the pid of a process, or --service NAME; rperf-push ps lists both", ["--interval", "9", "1"] => "live: interval must be from 0.05 to 5.0 seconds, got 9", ["x"] => "live: \"x\" is no pid" }.each do |arguments, message|
      expect { expect(RperfPush::CLI.run(["live", *arguments])).to eq(1) }.to output("rperf-push: #{message}\n").to_stderr
    end
    expect(rperf_push("live", "--service", "x", env:).to_a).to eq(["", "rperf-push: live: no process of \"x\" listens; rperf-push ps lists those that do\n", 1])
    live(working.pid.to_s, "--service", "x") { |url| expect(url).to start_with("http://127.0.0.1:") } # its first process may come later
  end

  describe RperfPush::LiveFeed do
    def head(answer) = JSON.parse(answer.byteslice(5, answer.unpack1("N")))

    # With windows of a real process.
    def followed
      feed = described_class.new(frequency: 99, mode: "cpu,wall", interval_ms: 50)
      feed.follow(client_of(working))
      feed
    end

    def until_head(feed, since) = wait_until("an answer") { head(feed.answer(since)).then { |one| one if yield one } }

    it "keeps no more than is allowed, and tells who is slow how much was missed" do
      stub_const("RperfPush::LiveFeed::BYTES_KEPT", 3000)
      feed = followed
      slow = until_head(feed, 1) { |one| one["lost"].positive? }
      expect(slow["windows"].size).to be_between(1, 100)
      expect(slow["next"]).to eq(1 + slow["lost"] + slow["windows"].size)
      expect(head(feed.answer(0))["lost"]).to eq(0)
    end

    it "hands over in parts what is too much for one answer" do
      stub_const("RperfPush::LiveFeed::ANSWER_BYTES", 1)
      feed = followed
      until_head(feed, 3) { |one| one["windows"].any? }
      expect(head(feed.answer(1))).to include("next" => 2, "lost" => 0, "windows" => [include("at_ms")])
    end
  end

  # 200 seconds with a millisecond each, as a feed has them.
  recorded = Class.new do
    def initialize(data)
      @bytes = RperfPush::Formats.encode(data, "window.pb.gz")
    end

    def answer(since)
      windows = since.zero? ? Array.new(200) { |second| { pid: 1, at_ms: (1_700_000_000 + second) * 1000 } } : []
      head = { next: 201, lost: since.zero? ? 7 : 0, now_ms: 1_700_000_199_000, windows:, processes: [{ pid: 1, state: "recording", why: nil, seen_ms: 1_700_000_199_000 }] }
      [JSON.generate(head), *([@bytes] * windows.size)].map { |bytes| [bytes.bytesize, "J"].pack("Na") + bytes.b }.join
    end
  end

  it "joins seconds of long ago, loses nothing, and shows the totals of the last seconds" do
    data = { mode: :cpu, values: { wall: [1_000_000] }, label_sets: [{}], aggregated_samples: [[[["a.rb", "A#a", 1], ["a.rb", "<main>", 2]], 1_000_000, 1, 0]] }
    app = RperfPush::PageApp.new("recorded", -> { [] }, live: { feed: recorded.new(data), interval_ms: 100 })
    server = RperfPush::CLI::PageServer.new(app, host: "127.0.0.1", port: 0)
    serving = Thread.new { server.run }
    browser.show(server.url, view: "table", value: "wall")
    browser.until_true("all of it") { total("A#a") == 200 }
    expect(browser.text("#processes")).to eq("process 1 is recorded; 7 updates were missed")
    expect(threads).to eq([["1", "1", "running", "A#a ← <main>"]])
    browser.show(server.url, view: "timeline", value: "wall")
    browser.until_true("the timeline") { browser.run("document.querySelectorAll('th.tick').length").between?(60, 150) }
    browser.show(server.url, view: "table", value: "wall", last: "5")
    browser.until_true("the last seconds") { total("A#a") == 5 }
  ensure
    serving&.kill&.join
  end
end
