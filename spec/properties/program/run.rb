# frozen_string_literal: true

# What each program of the properties is: it runs a plan, and writes down what was true. With or without a profiler it does the same.
#
#   ruby run.rb PLAN [PART]
#
# PLAN is a file of JSON. The environment:
#
#   PROPERTIES_TRUTH  the file for the truth, a line a fact
#   PROPERTIES_WAY    the session that the program itself begins: a method of Sessions; its profiles go to
#   PROPERTIES_DATA   this path with a number
#   PROPERTIES_GO     it waits until there is this file
#   PROPERTIES_STATS  it ends continuous profiling itself, and writes down its counters

require_relative "programme"

programme = Programme.new(ARGV.fetch(0))
part = programme.part(Integer(ARGV.fetch(1, 0)))
root = ARGV.size == 1
Dir.rmdir(Dir.pwd) if programme.plan["world"]["homeless"] && root
way = ENV.fetch("PROPERTIES_WAY", nil) if root
require_relative "sessions" if way
if root && (go = ENV.fetch("PROPERTIES_GO", nil))
  sleep 0.005 until File.exist?(go)
end

before = Truth.surroundings
main = []
work = -> { main << Truth.cpu << programme.run(part).then { Truth.cpu } }
way ? Sessions.around(way, programme.plan["seed"], &work) : work.call
Truth.say(pid: Process.pid, part: part["number"], main:, rest: Truth.cpu - main.last, objects: Truth.objects, before:, after: Truth.surroundings_after(before))
Truth.say(pid: Process.pid, stats: RperfPush.shutdown.then { RperfPush.stats }) if root && ENV.key?("PROPERTIES_STATS")
programme.finish(part)
