# frozen_string_literal: true

require "rperf_push/cli"
require "net/http"
require_relative "../support/live_page"

# The page that grows with each call of a process: what it counts is what the program counts, and what is lit is where its threads stand.
RSpec.describe "rperf-push live --trace", :once do
  include LivePage

  # Calls as often as it is told to. A visitor stands at a door until it is told to go on.
  TILL = <<~RUBY
    class Till
      def initialize = @door = Queue.new
      def scan(n) = 1.upto(n) { beep }
      def beep = nil
      def twice(n) = [1, 2].each { scan(n) }
      def stand = @door.pop
      def rest = sleep
      def visit = stand && rest
      def open(_) = @door << 1
      def tick = loop { sleep 0.01 }
    end
    till = Till.new
    Thread.new { Thread.current.name = "visitor"; till.visit }
    Thread.new { till.tick }
    puts "ready"
    while (order = gets) do puts till.public_send(order.split.first, order.split.last.to_i).hash end
  RUBY

  def working(**how) = super(TILL, **how)
  def live(*arguments, &) = super("--trace", *arguments, &)
  def told(program, order) = program.say(order).then { expect(program.line).to match(/\A-?\d+\z/) }
  def visitor = threads.find { |row| row[1].end_with?("visitor") }
  def until_traced(*programs) = browser.until_true("the tracing") { says?("traced", *programs) && threads.any? }

  # @return [Hash{String => Array(Integer, Integer)}] own and total calls of each method, whatever file it is in
  def calls
    browser.rows.each_with_object({}) do |row, sums|
      numbers = row.values_at(0, 2).map { |text| text.delete(",").to_i }
      sums[row[4]] = sums[row[4]] ? sums[row[4]].zip(numbers).map(&:sum) : numbers
    end
  end

  # @return [Boolean] whether the process is traced from outside
  def traced?(program)
    client_of(program).ask("resume")
    true
  rescue RperfPush::ControlClient::Refused
    false
  end

  it "counts calls as the program makes them, each once" do
    program = working
    live("--no-c-methods", program.pid.to_s) do |url|
      browser.show(url, view: "table", value: "calls")
      until_traced(program)
      expect(browser.text(".warning")).to include("slows the processes down", "as long as this page is open")
      told(program, "scan 700")
      browser.until_true("the first calls") { calls["Till#beep"]&.first == 700 }
      expect(calls.fetch("Till#scan").first).to eq(1)
      browser.click("#pause")
      told(program, "twice 150")
      sleep 0.5 # five updates: were it not paused they would be seen
      expect(calls.fetch("Till#beep").first).to eq(700)
      browser.click("#pause")
      browser.until_true("what came meanwhile") { calls["Till#beep"].first == 1000 }
      expect(calls.values_at("Till#twice", "Till#scan").map(&:first)).to eq([1, 3])
      expect(calls["Till#twice"].last).to eq(1 + 2 + 300)
      browser.show(url, view: "tree", value: "calls") # another page has the same
      browser.until_true("the tree") { browser.rows("table.calls").any? { |row| row.last.include?("Till#twice") } }
      browser.show(url, view: "table", value: "calls")
      browser.until_true("all calls") { calls["Till#beep"]&.first == 1000 }
      browser.click("#clear")
      browser.until_true("the beginning") { calls["Till#beep"].nil? }
      told(program, "scan 3")
      browser.until_true("what comes then") { calls["Till#beep"]&.first == 3 }
    end
  end

  it "lights where each thread is: at what it waits for, until that returns" do
    program = working
    live(program.pid.to_s) do |url|
      browser.show(url, view: "flame", value: "elapsed")
      browser.until_true("the visitor") { visitor&.last&.start_with?("Thread::Queue#pop ← Till#stand ← Till#visit") }
      expect(visitor).to match([program.pid.to_s, /\A\d+ visitor\z/, "blocked", anything])
      browser.until_true("its box") { lit.include?("Thread::Queue#pop") }
      expect(lit & %w[Till#stand Till#visit Kernel#sleep]).to eq(lit & %w[Kernel#sleep]) # the one that ticks sleeps
      browser.run("[...document.querySelectorAll('#threads tr')].find((row) => row.innerText.includes('visitor')).querySelectorAll('button')[1].click()")
      browser.until_true("only the visitor") { lit == ["Thread::Queue#pop"] }
      expect(browser.run("document.querySelectorAll('g.frame.way').length")).to be >= 3 # the chain that is open
      told(program, "open 1")
      browser.until_true("the visitor to rest") { lit == ["Kernel#sleep"] }
      expect(visitor.last).to start_with("Kernel#sleep ← Till#rest ← Till#visit")

      browser.show(url, view: "tree", value: "calls") # no call of the main thread has begun, but it is there
      rows = -> { browser.run("[...document.querySelectorAll('table.calls tr.lit')].map((row) => row.cells[row.cells.length - 1].innerText)") }
      browser.until_true("rows") { rows.call.size >= 2 }
      expect(browser.requests).to all(start_with("http://127.0.0.1:").or(start_with("data:")).or(start_with("about:")))
    end
  end

  it "shows how long each thread was in what, as it passes" do
    program = working
    live(program.pid.to_s) do |url|
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      browser.show(url, view: "table", value: "elapsed")
      until_traced(program)
      milliseconds = lambda do |method|
        number, unit = browser.rows.find { |row| row[4] == method }&.at(2).to_s.split
        number.to_f * { "s" => 1e3, "ms" => 1, "µs" => 1e-3, "ns" => 1e-6, nil => 0 }.fetch(unit)
      end
      browser.until_true("half a second") { milliseconds["Till#stand"] > 500 }
      expect(milliseconds["Till#stand"]).to be < (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began) * 1000
      browser.show(url, view: "table", value: "blocked")
      browser.until_true("that it is blocked") { milliseconds["Till#stand"] > 500 }
    end
  end

  it "traces while a page is open: not before, not after, and again when one comes" do
    program = working
    live("--interval", "0.05", program.pid.to_s) do |url|
      sleep 0.5
      expect(traced?(program)).to be(false)
      browser.show(url)
      until_traced(program)
      expect(traced?(program)).to be(true)
      browser.show("about:blank", "") rescue nil
      wait_until("the end of the tracing") { !traced?(program) }
      browser.show(url, view: "table", value: "calls")
      wait_until("the tracing again") { traced?(program) }
      until_traced(program)
      told(program, "scan 5")
      browser.until_true("its calls") { calls["Till#beep"]&.first == 5 }
    end
    wait_until("the end with the command") { !traced?(program) }
    browser.until_true("what the page says") { browser.text(".problems").include?("the command has ended") }
  end

  it "shows the processes of a service, each with a trace of its own" do
    programs = Array.new(2) { working(service: "shop") }
    live("--service", "shop") do |url|
      browser.show(url, view: "table", value: "calls")
      until_traced(*programs)
      programs.each { |program| told(program, "scan 40") }
      browser.until_true("the calls of both") { calls["Till#beep"]&.first == 80 }
      expect(threads.map(&:first).uniq.sort).to eq(programs.map { |one| one.pid.to_s }.sort)
      programs.last.stop
      browser.until_true("its end") { browser.text("#processes").include?("process #{programs.last.pid} is not traced any more: the process has gone") }
      browser.until_true("its threads to go") { threads.map(&:first).uniq == [programs.first.pid.to_s] }
      expect(calls["Till#beep"].first).to eq(80)
    end
  end

  it "says on the page, and in a line of the command, why a process is not traced" do
    program = working
    client_of(program).connect("trace") do |stream|
      wait_until("another one's trace") { stream.read(timeout: 10).first == :document }
      IO.popen([CommandLine.silence.merge(env), RbConfig.ruby, "-I", RubyProgram::LIB, CommandLine::EXECUTABLE, "live", "--trace", program.pid.to_s, { err: %i[child out] }]) do |command|
        url = command.gets[%r{\Ahttp://\S+/}]
        Net::HTTP.get(URI("#{url}updates?since=0"))
        expect(command.gets).to eq("rperf-push: live: process #{program.pid} is not traced any more: calls are traced from outside already\n")
        Process.kill(:INT, command.pid)
      end
      live(program.pid.to_s) do |url|
        browser.show(url)
        browser.until_true("the reason") { browser.text("#processes") == "process #{program.pid} is not traced any more: calls are traced from outside already" }
      end
    end
  end

  it "says in a line what is wrong" do
    { ["--trace"] => "live needs the pid of a process, or --service NAME; rperf-push ps lists both",
      ["--trace", "--max-nodes", "0", "1"] => "live: max-nodes must be from 1 to 200000, got 0",
      ["--trace", *%w[a b c d e f].flat_map { |one| ["--only", one] }, "1"] => "live: --trace takes 5 patterns of methods at the most",
      ["--blocks", "1"] => "live: --blocks needs --trace", ["--only", "A", "1"] => "live: --only needs --trace",
      ["--no-c-methods", "1"] => "live: --no-c-methods needs --trace", ["--max-nodes", "5", "1"] => "live: --max-nodes needs --trace" }.each do |arguments, message|
      expect { expect(RperfPush::CLI.run(["live", *arguments])).to eq(1) }.to output("rperf-push: #{message}\n").to_stderr
    end
  end
end
