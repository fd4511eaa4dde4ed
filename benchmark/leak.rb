# frozen_string_literal: true

# A program that creates 100,000 objects a second, of which 100 stay for ever: is the leak the top row, with its line?
#
#   bin/with-ruby 3.4 bundle exec exe/rperf-push record -m heap -o leak.json.gz benchmark/leak.rb 120
#   bin/with-ruby 3.4 bundle exec exe/rperf-push report --top --value inuse_objects leak.json.gz
Leaked = Class.new
Garbage = Class.new

TURNS_A_SECOND = 100
OBJECTS_A_TURN = 1_000

def waste(count) = count.times { Garbage.new }

def leak(kept)
  kept << Leaked.new
end

def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

seconds = Float(ARGV.fetch(0, 120))
kept = []
began = clock
before = GC.stat(:total_allocated_objects)
(seconds * TURNS_A_SECOND).to_i.times do |turn|
  waste(OBJECTS_A_TURN - 1)
  leak(kept)
  early = ((turn + 1).fdiv(TURNS_A_SECOND)) - (clock - began)
  sleep early if early.positive?
end
created = GC.stat(:total_allocated_objects) - before
GC.start
puts format("%d objects stay of %d that were created in %.0f s, in %d GCs", kept.size, created, clock - began, GC.count)
