# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "tasks"

# Runs one process of the plan.
class Programme
  RUN = File.join(__dir__, "run.rb")

  attr_reader :plan

  # @param path [String] of the plan, as JSON
  def initialize(path)
    @plan = JSON.parse(File.read(path, encoding: Encoding::UTF_8))
    @path = File.expand_path(path)
    define_methods
  end

  # @return [Hash] the part with that number
  def part(number) = parts.find { |one| one["number"] == number }

  def run(part)
    children = part["children"].map { |child| [child["how"], start_child(child["how"], child["part"])] }
    threads = begin_threads(part)
    begin_life(part, 0)
    threads.each(&:join)
    puts "part #{part["number"]}: #{threads.size} threads"
    children.each { |how, ended| puts "a child by #{how} ended: #{ended.call.then { |status| [status.exitstatus, status.termsig] }}" }
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
  def in_fiber(part, thread, task) = "task_#{task["number"]}_of_#{name_of(part, thread)}"
  def parts = walk(@plan["root"])
  def walk(part) = [part, *part["children"].flat_map { |child| walk(child["part"]) }]

  # A method for each task and each thread: their names are in the profile.
  def define_methods
    lines = parts.flat_map do |part|
      part["threads"].each_with_index.flat_map do |tasks, at|
        ["def #{name_of(part, at)}(part) = live(part, #{at})",
         *tasks.map { |task| "def task_#{task["number"]}(task) = perform(task) { |seconds| #{in_fiber(part, at, task)}(seconds) }" },
         *tasks.map { |task| "def #{in_fiber(part, at, task)}(seconds) = Tasks.compute(seconds)" }]
      end
    end
    instance_eval(lines.join("\n"), "tasks.rb", 1)
  end

  # From Thread.new to its next wait, engine safepoint does not find a thread (docs/numbers.md): so the first one waits for the others.
  def begin_threads(part)
    begun = Thread::Queue.new
    threads = part["threads"].each_index.drop(1).map { |at| Thread.new { (begun << at) && begin_life(part, at) } }
    threads.each { begun.pop }
  end

  # Who writes the truth down is no part of it.
  def begin_life(part, at)
    from = Truth.now
    (cpu, wall), tasks = send(name_of(part, at), part)
    Truth.say(pid: Process.pid, part: part["number"], thread: at, from:, cpu:, wall:, life_cpu: Truth.cpu, tasks:, delay: Truth.delay, switches: Truth.switches)
  end

  # @return [Array(Array(Integer, Integer), Array<Array(Integer, Integer, Integer, Integer)>)] what all took; and of each task its number, its
  #   begin, and what it took
  def live(part, at)
    tasks = []
    all = Truth.took { part["threads"][at].each { |task| tasks << [task["number"], Truth.now, *Truth.took { send("task_#{task["number"]}", task) }] } }
    [all, tasks]
  end

  def perform(task, &inside)
    return do_it(task, inside) unless task["labelled"] && defined?(RperfPush)

    RperfPush.label(task: task["number"].to_s) { do_it(task, inside) }
  end

  def do_it(task, inside) = Tasks.public_send(task["kind"], task["amount"], *(inside if task["kind"] == "fiber"))

  # @return [#call] which waits for its end and returns its Process::Status
  def start_child(how, part)
    case how
    when "fork" then waiter(fork { run_whole(part) })
    when "spawn" then waiter(spawn(*another_ruby(part)))
    when "exec" then waiter(fork { exec(*another_ruby(part)) })
    when "system" then system(*another_ruby(part)).then { $? }.then { |status| -> { status } }
    when "double_fork" then waiter(fork { Process.wait(fork { run_whole(part) }) })
    when "daemon" then start_daemon(part)
    end
  end

  def waiter(pid) = -> { Process.wait2(pid).last }
  def another_ruby(part) = [RbConfig.ruby, RUN, @path, part["number"].to_s]

  # Nobody can wait for a daemon; but it closes its end of a pipe when it ends.
  def start_daemon(part)
    ours, its = IO.pipe
    pid = fork do
      ours.close
      Process.daemon(true, true)
      run_whole(part)
    end
    its.close
    lambda do
      ours.read
      ours.close
      Process.wait2(pid).last
    end
  end

  def run_whole(part)
    began = Truth.cpu
    run(part)
    Truth.say(pid: Process.pid, part: part["number"], main: [began, Truth.cpu], objects: Truth.objects)
    finish(part)
  end
end
