# frozen_string_literal: true

require "rperf_push"
require_relative "truth"

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

# The sessions that a program begins itself.
module Sessions
  SETTINGS = { mode: ENV.fetch("PROPERTIES_MODES", "").split(",").map(&:to_sym), frequency: 99, engine: ENV.fetch("PROPERTIES_ENGINE", "auto").to_sym }.freeze
  WARM = 20
  MANY = 40

  module_function

  # @param way [String] the name of a method below
  def around(way, seed)
    @random = Random.new(seed)
    Bystander.begin
    objects = Truth.objects
    inside = nil
    public_send(way) { inside = objects_of { yield } }
    Truth.say(objects_inside: [inside, Truth.objects - objects])
    return Bystander.finish if RperfPush.stats[:running] # others know threads and labels, too

    Truth.say(**kept, grown_kb: grown_kb)
  end

  def objects_of
    Bystander.ask { RperfPush.label(mood: "bystander") }
    before = Truth.objects
    yield
    Truth.objects - before
  end

  # What the profiler still knows of threads that have ended, and of labels when the next session begins.
  def kept
    labels = []
    RperfPush.start { RperfPush.label(mine: 1) { labels << RperfPush.labels << Bystander.ask { RperfPush.labels } } }
    Bystander.finish
    { threads_kept: [RperfPush.stats[:threads_known] - Thread.list.size, 0].max, labels_kept: labels.reduce(:merge).except(:mine) }
  end

  # What many sessions one after the other leave in memory.
  def grown_kb
    WARM.times { small_session }
    before = Truth.resident_kb
    MANY.times { small_session }
    Truth.resident_kb - before
  end

  def small_session
    RperfPush.start(**SETTINGS) do
      Array.new(3) { |number| Thread.new { RperfPush.label(thread: number) { Array.new(200) { "x" * 50 } } } }.each(&:join)
    end
    GC.start
  end

  def keep(*data) = data.each { |one| RperfPush.save("#{ENV.fetch("PROPERTIES_DATA")}.#{@kept = @kept.to_i + 1}.json", one) }

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

  # One or two that begin while threads are in the middle of something, and end so, or after them.
  def middle
    sessions = Thread.new do
      @random.rand(1..2).times do
        sleep @random.rand(0.0..0.3)
        in_a_moment(@random.rand(0.05..0.6))
      end
      Truth.say(beside: Truth.cpu)
    end
    yield
    sessions.join
  end

  # Writes down the latest and the earliest that it can have begun and ended, and the CPU time of the process then.
  def in_a_moment(seconds)
    clocks = -> { [Truth.now, Truth.cpu_of_all] }
    moments = [clocks.call]
    RperfPush.start(**SETTINGS, inherit: false)
    moments << clocks.call
    sleep seconds
    moments << clocks.call
    data = RperfPush.stop
    Truth.say(moments: moments << clocks.call)
    keep(data)
  end
end
