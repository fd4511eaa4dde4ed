# frozen_string_literal: true

require "objspace"

# The heap, and what it calls: GC, compaction, finalizers, hooks of other tools, Ractors.
class Operations
  operation long: true, turns: 2
  def collection = GC.start

  operation long: true, turns: 2
  def minor_collection
    Array.new(200) { |i| [i.to_s] }
    GC.start(full_mark: false, immediate_sweep: false)
    Array.new(200) { |i| "x" * i }
  end

  operation long: true, turns: 1
  def compaction = GC.compact

  operation long: true, turns: 1
  def verified_compaction
    GC.auto_compact = true
    Array.new(500) { Object.new }
    GC.start
  ensure
    GC.auto_compact = false
  end

  def self.finalizer = proc { |id| [id].map { |x| x.to_s } }
  def self.failing_finalizer = proc { |_id| raise Oops, "in a finalizer" }

  operation long: true, turns: 2, apart: ["Operations.finalizer", "Operations.failing_finalizer"]
  # Called once by itself: the VM may come to all of them while TracePoint is busy with an event, and tells of none then.
  def finalizers
    Operations.finalizer.call(0)
    Operations.failing_finalizer.call(0) rescue nil
    30.times { ObjectSpace.define_finalizer(Object.new, Operations.finalizer) }
    20.times { ObjectSpace.define_finalizer(Object.new, Operations.failing_finalizer) }
    GC.start
    work(5)
  end

  operation long: true, turns: 2
  def walking_the_heap = [ObjectSpace.each_object(Class).first(20).size, ObjectSpace.count_objects[:TOTAL], ObjectSpace.each_object(Module) { |m| m.name }]

  operation long: true, turns: 2
  def references = ObjectSpace.reachable_objects_from(Operations).size

  # The GC may begin within the hook of another tool.
  operation long: true, turns: 2
  def traced_allocations
    ObjectSpace.trace_object_allocations { Array.new(300) { |i| [i.to_s, Object.new] } }
  end

  operation long: true, turns: 1, alone: true
  def stressed_collections
    GC.stress = true
    ["a" + "b", [1].inspect, -> { 1 }.call]
  ensure
    GC.stress = false
  end

  operation
  def weak_references
    map = ObjectSpace::WeakMap.new
    key = Object.new
    map[key] = "v"
    [map.key?(key), map[key]]
  end

  operation long: true, turns: 2, alone: true
  def ractors = Ractor.new(3) { |n| n.times.map { |i| [i].first } }.then { |r| r.respond_to?(:value) ? r.value : r.take }
end
