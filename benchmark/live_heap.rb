# frozen_string_literal: true

# What mode heap costs: each GC, for each object that is watched, and a program that does nothing but create objects.
# docs/memory.md has the results. CPU time, interleaved, the best of the rounds.
#
#   ruby benchmark/live_heap.rb [ROUNDS]

require "rperf_push"

ROUNDS = Integer(ARGV[0] || 5)
KEPT = 200_000
OBJECTS = 3_000_000

Kept = Class.new

def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

def cpu_of
  before = cpu
  yield
  cpu - before
end

# The same objects, watched or not: with an interval each one is.
def gc_costs(watched)
  RperfPush.start(mode: watched ? :heap : :custom, alloc_interval: 1)
  kept = Array.new(KEPT) { Kept.new }
  first = cpu_of { GC.start(full_mark: false) }
  4.times { GC.start }
  old = Array.new(10) { cpu_of { GC.start(full_mark: false) } }.min
  costs = { young: first, old:, major: Array.new(10) { cpu_of { GC.start } }.min }
  RperfPush.stop
  kept.clear
  costs
end

def program_cost(mode)
  RperfPush.start(mode:) if mode
  cpu_of { OBJECTS.times { Kept.new } }
ensure
  RperfPush.stop if mode
end

def best(rounds) = rounds.reduce { |best, one| best.merge(one) { |_, a, b| [a, b].min } }

puts "ruby #{RUBY_VERSION}, best of #{ROUNDS} rounds"
rounds = Array.new(ROUNDS) { { false => gc_costs(false), true => gc_costs(true) } }
unwatched, watched = [false, true].map { |which| best(rounds.map { |round| round[which] }) }
{ young: "a minor GC, young objects", old: "a minor GC, old objects", major: "a major GC" }.each do |kind, text|
  puts format("%-26s %.2f ms, %.2f ms with %d objects watched: %.1f ns each", text, unwatched[kind] * 1e3, watched[kind] * 1e3, KEPT,
              (watched[kind] - unwatched[kind]) / KEPT * 1e9)
end
modes = { "alone" => nil, "alloc" => :alloc, "heap" => :heap, "cpu,wall,alloc,heap" => %i[cpu wall alloc heap] }
costs = best(Array.new(ROUNDS) { modes.transform_values { |mode| program_cost(mode) } })
costs.each { |name, seconds| puts format("%-20s %.3f s  %.2fx", name, seconds, seconds / costs["alone"]) }
