# frozen_string_literal: true

# What each program of the properties is made of: it runs a plan, and writes down what was true. With or without a profiler it does the same.
#
#   ruby runtime.rb PLAN [PART]
#
# PLAN is a file of JSON; PROPERTIES_TRUTH names the file for the truth, a line a thread; PROPERTIES_WAY the session that the program itself
# begins, and PROPERTIES_DATA the file for what that has seen.

require "json"
require "rbconfig"
require "zlib"

module Truth
  module_function

  def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  def wall = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  def say(**facts) = File.write(ENV.fetch("PROPERTIES_TRUTH"), "#{JSON.generate(facts)}\n", mode: "ab")

  # How long the thread has waited for a core.
  def delay = File.read("/proc/thread-self/schedstat").split[1].to_i

  # @return [Array(Integer, Integer)] what the block took of the thread's clocks
  def took
    before = [cpu, wall]
    yield
    [cpu - before[0], wall - before[1]]
  end

  # The kernel ends a thread a little after Ruby has joined it.
  def surroundings_after(before)
    200.times do
      now = surroundings
      return now if now[:tasks] <= before[:tasks]

      sleep 0.02
    end
    surroundings
  end

  # What is there of the process, by the kernel and by Ruby.
  def surroundings
    { descriptors: Dir.children("/proc/self/fd").size, tasks: Dir.children("/proc/self/task").size, environment: ENV.to_h.hash,
      traps: %w[INT TERM USR1 USR2 PROF VTALRM CHLD].map { |name| File.read("/proc/self/status")[/^SigCgt:\s*(\h+)/, 1].hex[Signal.list[name] - 1] } }
  end
end

# Each act in terms of what a program may do. Their CPU time is on the thread that does them.
module Acts
  LOCK = Mutex.new
  KEPT = []
  TEXT = Random.new(1).bytes(200_000).freeze

  module_function

  def compute(seconds)
    till = Truth.cpu + (seconds * 1e9)
    x = 0
    200.times { x += 1 } while Truth.cpu < till
    x
  end

  # In one method of C that keeps the GVL, again and again.
  def in_c(seconds)
    till = Truth.cpu + (seconds * 1e9)
    TEXT.unpack("C*").sum while Truth.cpu < till
  end

  # zlib works without the GVL.
  def off_gvl(seconds)
    till = Truth.cpu + (seconds * 1e9)
    Zlib.deflate(TEXT, 6) while Truth.cpu < till
  end

  def sleep(seconds) = Kernel.sleep(seconds)
  def pop(seconds) = Thread::Queue.new.pop(timeout: seconds)
  def condition(seconds) = Mutex.new.then { |lock| lock.synchronize { ConditionVariable.new.wait(lock, seconds) } }
  def mutex(seconds) = LOCK.synchronize { compute(seconds / 2).then { Kernel.sleep(seconds / 2) } }
  def read(seconds) = IO.pipe.then { |ends| ends.each { |one| one.sync = true }.first.wait_readable(seconds).then { ends.each(&:close) } }
  def allocate(number) = number.times { Object.new }
  def keep(number) = KEPT << Array.new(number) { Object.new }

  def raise(seconds)
    compute(seconds)
    deeper(20)
  rescue ArgumentError
    nil
  end

  def deeper(depth) = depth.zero? ? Kernel.raise(ArgumentError, "deep") : deeper(depth - 1)
  def evaluate(seconds) = eval("compute(seconds)", binding, __FILE__, __LINE__)

  # A fiber's stack begins with its block, so its method has the names of the act and of the thread.
  def fiber(seconds, &inside)
    one = Fiber.new { inside.call(seconds / 2).then { Fiber.yield }.then { inside.call(seconds / 2) } }
    2.times { one.resume }
  end

  def many_sleeps(seconds)
    till = Truth.wall + (seconds * 1e9)
    Kernel.sleep(0.0005) while Truth.wall < till
  end

  # A label that stays.
  def mood(number) = defined?(RperfPush) && RperfPush.label(mood: number.to_s)
  def count(number) = defined?(RperfPush) && number.times { RperfPush.sample(3, name: "things") }
end

# Runs one process of the plan.
class Programme
  def initialize(plan, path)
    @plan = plan
    @path = path
    define_methods
  end

  def run(part)
    children = part["children"].map { |child| [child["how"], start_child(child)] }
    threads = part["threads"].each_index.drop(1).map { |at| Thread.new { begin_life(part, at) } }
    begin_life(part, 0)
    threads.each(&:join)
    puts "part #{part["number"]}: #{threads.size} threads"
    children.each { |how, pid| puts "a child by #{how} ended: #{Process.wait2(pid).last.then { |status| [status.exitstatus, status.termsig] }}" }
  end

  def finish(part)
    $stdout.flush
    case part["ending"]
    when "status" then exit 3
    when "exit!" then exit! 4
    when "exception" then raise "the end of part #{part["number"]}"
    when "abort" then abort "aborted"
    when "signal" then Process.kill(:TERM, Process.pid).then { sleep }
    when "exec" then exec("/bin/true")
    end
  end

  private

  def name_of(part, thread) = "part_#{part["number"]}_thread_#{thread}"
  def in_fiber(part, thread, act) = "act_#{act["number"]}_of_#{name_of(part, thread)}"
  def parts = walk(@plan["root"])
  def walk(part) = [part, *part["children"].flat_map { |child| walk(child["part"]) }]

  # A method for each act and each thread: their names are in the profile.
  def define_methods
    lines = parts.flat_map do |part|
      part["threads"].each_with_index.flat_map do |acts, at|
        ["def #{name_of(part, at)}(part) = live(part, #{at})",
         *acts.map { |act| "def act_#{act["number"]}(act) = perform(act) { |seconds| #{in_fiber(part, at, act)}(seconds) }" },
         *acts.map { |act| "def #{in_fiber(part, at, act)}(seconds) = Acts.compute(seconds)" }]
      end
    end
    instance_eval(lines.join("\n"), "acts.rb", 1)
  end

  # Who writes the truth down is no part of it.
  def begin_life(part, at)
    (cpu, wall), acts = send(name_of(part, at), part)
    Truth.say(pid: Process.pid, part: part["number"], thread: at, cpu:, wall:, life_cpu: Truth.cpu, acts:, delay: Truth.delay)
  end

  # @return [Array(Array(Integer, Integer), Array<Array(Integer, Integer, Integer)>)] what all took, and each act
  def live(part, at)
    acts = []
    all = Truth.took { part["threads"][at].each { |act| acts << [act["number"], *Truth.took { send("act_#{act["number"]}", act) }] } }
    [all, acts]
  end

  def perform(act, &)
    return Acts.public_send(act["kind"], act["amount"], &) unless act["labelled"] && defined?(RperfPush)

    RperfPush.label(act: act["number"].to_s) { Acts.public_send(act["kind"], act["amount"], &) }
  end

  def start_child(child)
    case child["how"]
    when "fork" then fork { run_whole(child["part"]) }
    when "spawn" then spawn(RbConfig.ruby, __FILE__, @path, child["part"]["number"].to_s)
    when "double_fork" then fork { Process.wait(fork { run_whole(child["part"]) }) }
    end
  end

  def run_whole(part)
    began = Truth.cpu
    run(part)
    Truth.say(pid: Process.pid, part: part["number"], main: [began, Truth.cpu])
    finish(part)
  end

  public :run_whole
end

# A thread that is there before, in and after a session.
module Bystander
  QUESTIONS = Thread::Queue.new
  ANSWERS = Thread::Queue.new

  module_function

  def begin
    @thread = Thread.new do
      while (question = QUESTIONS.pop)
        ANSWERS << question.call
      end
    end
  end

  def finish = QUESTIONS.close.then { @thread.join }
  def ask(&question) = QUESTIONS.push(question).then { ANSWERS.pop }
end

# The session that a program begins itself.
module Ways
  module_function

  SETTINGS = { mode: %i[cpu wall], frequency: 99 }.freeze

  def around(way, &)
    return yield unless way

    public_send(way) do
      Bystander.ask { RperfPush.label(mood: "bystander") }
      yield
    end
    Truth.say(**kept)
  end

  # What the profiler still knows of threads that have ended, and of labels when the next session begins.
  def kept
    labels = []
    RperfPush.start { RperfPush.label(mine: 1) { labels << RperfPush.labels << Bystander.ask { RperfPush.labels } } }
    Bystander.finish
    { threads_kept: [RperfPush.stats[:threads_known] - Thread.list.size, 0].max, labels_kept: labels.reduce(:merge).except(:mine) }
  end

  def keep(*data) = data.each_with_index { |one, at| RperfPush.save("#{ENV.fetch("PROPERTIES_DATA")}.#{at}.json", one) }

  def start_stop
    RperfPush.start(**SETTINGS, inherit: false)
    yield
    keep(RperfPush.stop)
  end

  def block(&) = keep(RperfPush.start(**SETTINGS, inherit: false, &))

  def defer(&)
    RperfPush.start(**SETTINGS, inherit: false, defer: true)
    RperfPush.profile(&)
    keep(RperfPush.stop)
  end

  def inherit
    RperfPush.start(**SETTINGS, inherit: true)
    yield
    keep(RperfPush.stop)
  end

  def snapshots
    RperfPush.start(**SETTINGS, inherit: false)
    taken = []
    done = false
    looker = Thread.new do
      (taken << RperfPush.snapshot(clear: true)).then { sleep 0.3 } until done
      Truth.say(beside: Truth.cpu)
    end
    yield
    done = true
    looker.join
    keep(*taken, RperfPush.stop)
  end
end

if $PROGRAM_NAME == __FILE__
  plan = JSON.parse(File.read(ARGV.fetch(0), encoding: Encoding::UTF_8))
  parts = ->(part) { [part, *part["children"].flat_map { |child| parts.(child["part"]) }] }
  Dir.rmdir(Dir.pwd) if plan["world"]["homeless"] && ARGV.size == 1
  part = parts.(plan["root"]).find { |one| one["number"] == Integer(ARGV.fetch(1, plan["root"]["number"])) }
  program = Programme.new(plan, File.expand_path(ARGV[0]))
  way = ENV["PROPERTIES_WAY"] if ARGV.size == 1
  require "rperf_push" if way
  before = Truth.surroundings
  Bystander.begin if way
  main = []
  Ways.around(way) { main << Truth.cpu << program.run(part).then { Truth.cpu } }
  Truth.say(pid: Process.pid, part: part["number"], main:, before:, after: Truth.surroundings_after(before))
  program.finish(part)
end
