# frozen_string_literal: true

require "forwardable"

# Frames that are pushed and popped, by Ruby and by C.
class Operations
  operation busy: { "Operations#work" => 2_000 }
  def leaf_method = work(60)

  def work(turns)
    sum = 0
    sum += turns -= 1 while turns > 0
    sum
  end

  KINDS = Array.new(25) { Class.new.new }

  # YJIT sends megamorphic calls through the interpreter, whose C frames have no pc: nor has the leaf that comes after. No loop in
  # it: each step's capture asks for a job, and compiled code that turns back is left for it. The interpreter calls it, too, so
  # that nothing remains to be compiled.
  operation calls: { "Operations#compiled_leaf" => 50 }, turns: 200
  def leaf_after_megamorphic_call
    KINDS.each do |o|
      o.frozen?
      o.hash
      compiled_leaf(1)
      public_send(:compiled_leaf, 1)
    end
  end

  def compiled_leaf(n)
    n += n - 1 + n - 2 - n + 3 - n + 4 + n - 5 + n - 6 - n + 7 - n + 8 + n - 9 + n - 1 - n + 2 - n + 3 + n - 4 + n - 5 - n + 6 - n
    n + n - 1 + n - 2 - n + 3 - n + 4 + n - 5 + n - 6 - n + 7 - n + 8 + n - 9 + n - 1 - n + 2 - n + 3 + n - 4 + n - 5 - n + 6 - n
  end

  operation busy: { "Burner.plain" => 300 }
  def c_method = Burner.plain(100)

  operation busy: { "Burner.yielding" => 20 }
  def c_method_that_yields = Burner.yielding { |x| [x].first }

  operation busy: { "Burner.calling" => 20 }
  def c_method_that_calls = Burner.calling(-> { work(3) })

  Parent = Class.new do
    def initialize(a, b: 2) = (@a, @b = a, b)
    def greet(*names, loud: false, **rest) = [names, loud, rest, @a, @b]
    def method_missing(name, *args, &block) = name.start_with?("ghost") ? [name, args, block&.call] : super
    def respond_to_missing?(name, all = false) = name.start_with?("ghost") || super
  end
  Child = Class.new(Parent) do
    def initialize(...) = super
    def greet(name, *, loud: true, **) = super(name.to_s, *, loud:, **)
  end

  operation
  def super_and_keywords = Child.new(1, b: 3).greet(:x, "y", more: 1)

  operation
  def missing_methods
    child = Child.new(1)
    [child.ghost(1) { 2 }, child.respond_to?(:ghostly), (child.nothing rescue 0)]
  end

  class Front
    extend Forwardable
    def initialize = @list = [3, 1, 2]
    def_delegators :@list, :first, :sort
    def forward(...) = take(...)
    def take(a, b = 2, *rest, k: 1, &block) = [a, b, rest, k, block&.call(a)]
  end

  operation
  def forwarding
    front = Front.new
    [front.first, front.sort, front.forward(1, k: 3) { |x| x }, front.forward(*[1, 2, 3], **{ k: 4 })]
  end

  Point = Struct.new(:x, :y) do
    def length = Math.sqrt((x * x) + (y * y))
    def <=>(other) = length <=> other.length
    include Comparable
  end
  Size = Data.define(:width, :height) { def area = width * height }

  operation
  def structs_and_data
    points = [Point.new(3, 4), Point.new(1, 2), Point.new(2, 2)]
    [points.min, points.sort.first, points[0] > points[1], points[0].clamp(points[1], points[2]), Size.new(width: 2, height: 3).area,
     Size.new(1, 2).with(height: 4).to_h, points[0] == Point.new(3, 4), points[0].hash]
  end

  class Countdown
    include Enumerable
    def each = 3.downto(1) { |i| yield i }
  end

  operation
  def enumerable_from_c
    [Countdown.new.map { |x| x * 2 }, Countdown.new.sort_by { |x| -x }, Countdown.new.inject(:+), Countdown.new.each_slice(2).to_a,
     Countdown.new.min_by { |x| x.to_s }, Countdown.new.each_with_object([]) { |x, all| all << x }]
  end

  operation
  def symbols_to_procs = [%w[a b].map(&:upcase), [1, 2].inject(&:+), [[1], [2]].each(&:first), %w[x].to_h(&:chars).size] rescue 0

  operation
  def method_objects
    m = method(:work)
    [m.call(2), m.unbind.bind_call(self, 2), m.to_proc.call(1), [1, 2].map(&m), (m >> :to_s.to_proc).call(1), public_send(:work, 1), __send__(:work, 1)]
  end

  # Not interpolated: with YJIT that calls Integer#to_s, where the interpreter that tells the truth does not.
  VARIABLES = %i[@a0 @a1 @a2 @a3 @a4 @a5 @a6 @a7].freeze

  operation
  def shapes
    8.times do |i|
      o = Parent.allocate
      o.instance_variable_set(:@a, i)
      o.instance_variable_set(VARIABLES[i], i)
      o.instance_variable_get(:@a)
      o.remove_instance_variable(:@a)
    end
  end

  operation
  def backtraces = nested(2) { [caller.size, caller_locations(1, 2).map(&:lineno), RuntimeError.new("x").backtrace, (raise("y") rescue $!.backtrace.size)] }
  def nested(depth, &block) = depth.zero? ? yield : nested(depth - 1, &block)

  operation
  def hash_with_default_block = Hash.new { |h, k| h[k] = k.to_s }.then { |h| [h.values_at(1, :a), h.fetch(2) { |k| k + 1 }, h.to_a.sort_by(&:to_s)] }

  operation
  def objects_as_keys
    key = Size.new(width: 1, height: 2)
    { key => 1 }[Size.new(width: 1, height: 2)]
  end

  operation
  def string_formats = ["%05.1f %s" % [1.5, :a], "abc".gsub(/b/) { |m| m.upcase }, "a,b".split(",") { |x| x.to_sym }, "a#{Front.new.first}"]

  operation
  def integers = [3.times.to_a, 1.upto(3).sum { |x| x * x }, 1.step(5, 2).map(&:to_s), 5.clamp(1, 3), 7.divmod(2), 2**70]
end
