# frozen_string_literal: true

# Code that comes and goes while it runs; compiled code that becomes wrong.
class Operations
  module Changing
    def self.value = 1
    LIMIT = 3
  end

  operation
  def redefinition
    Changing.define_singleton_method(:value) { [2].first }
    a = Changing.value
    def Changing.value = [1].last
    [a, Changing.value]
  end

  operation
  def removal
    c = Class.new { def gone = [1].first; def self.alone = [2].first }
    c.new.gone
    c.send(:remove_method, :gone)
    c.singleton_class.undef_method(:alone)
    [(c.new.gone rescue 0), (c.alone rescue 0)]
  end

  operation
  def method_that_removes_itself
    c = Class.new { def once = self.class.send(:remove_method, :once) && [1].map { |x| x + 1 } }
    c.new.once
  end

  operation
  def singletons
    o = Object.new
    def o.own(x) = [x].map(&:to_s)
    o.own(1)
    o.singleton_class.remove_method(:own)
    o.extend(Comparable).singleton_methods
  end

  Word = Struct.new(:text) { def quiet = text.downcase }

  # Not of a class that comes with Ruby: its operators would be slow ones from then on.
  module Louder
    refine(Word) { def shout = "#{text}!"; def quiet = super.succ }
  end
  using Louder

  operation
  def refinements = [Word.new("a").shout, [Word.new("b")].map(&:quiet), Word.new("c").quiet, Module.new { refine(Word) { def half = 1 } }]

  operation
  def evals
    x = 2
    [eval("x + work(1)", binding, __FILE__, __LINE__), binding.eval("x = 3; [x].map { |y| y }", __FILE__, __LINE__),
     instance_eval("work(1)", __FILE__, __LINE__), Class.new.class_eval("def n = [1]; new.n"),
     instance_eval { work(1) }, "s".instance_exec(1) { |i| self * i }]
  end

  operation
  def class_bodies
    Class.new(Struct.new(:a)) do
      attr_accessor :b
      alias_method :c, :b
      private def hidden = a
      def shown = hidden.to_s
      class << self
        def build(x) = new(x).tap { |made| made.b = x }
      end
    end.build(1).then { |o| [o.shown, o.c] }
  end

  operation
  def prepended
    m = Module.new { def n = [super].first }
    Class.new { prepend m; def n = [1].last; def self.inherited(_) = work_in_hook; def self.work_in_hook = [1].first }.then { |c| [c.new.n, Class.new(c)] }
  end

  operation
  def constants
    Operations.const_set(:CHANGED, [1])
    a = CHANGED.first
    Operations.send(:remove_const, :CHANGED)
    [a, (Operations.const_get(:CHANGED) rescue 0), Changing::LIMIT, Operations.const_missing(:X)] rescue 0
  end

  AUTOLOADED = File.join(__dir__, "..", "autoloaded.rb")

  operation turns: 3
  def autoloads
    $LOADED_FEATURES.reject! { |path| path.end_with?("sweep/autoloaded.rb") }
    Operations.send(:remove_const, :Autoloaded) if Operations.const_defined?(:Autoloaded, false)
    Operations.autoload(:Autoloaded, File.expand_path(AUTOLOADED))
    Autoloaded.answer
  end

  operation busy: { "Operations#add" => 100 }
  def exit_to_the_interpreter = [add(1, 2), add(1.5, 2), add("a", "b"), add(2**62, 2**62), add([1], [2])]

  def add(a, b)
    sum = a
    3.times { sum = a + b }
    sum
  end

  # What was compiled for the old method, constant or shape is thrown away in the middle of its run.
  operation
  def invalidation
    c = Class.new { def v = 1; def call_v(n) = n.zero? ? 0 : (n == 2 && self.class.class_eval("def v = [2].first")) || (v && call_v(n - 1)) }
    20.times { c.new.call_v(1) }
    c.new.call_v(3)
  end

  # Compiled in the midst of the sweep: nobody has called it often enough before.
  operation long: true
  def compilation
    c = Class.new { class_eval("def hot(n) = n.zero? ? [n].first : hot(n - 1).to_s.size") }
    o = c.new
    60.times { o.hot(2) }
  end

  operation
  def trace_points
    seen = 0
    TracePoint.new(:call, :c_return) { seen += 1 }.enable(target_thread: Thread.current) { work(1) }
  end
end
