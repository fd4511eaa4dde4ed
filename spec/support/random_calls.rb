# frozen_string_literal: true

# Generates programs that call in every way that Ruby knows, the same one for the same seed: calls, recursion, raise, throw, fibers that
# end and that do not, blocks, methods of blocks, aliases, super, method_missing, refinements, C methods.
class RandomCalls
  METHODS = 8

  HEAD = <<~RUBY
    module %<name>sWords
      refine(String) { def shout = upcase }
    end
    using %<name>sWords

    class %<name>sBase
      include Comparable
      attr_accessor :note

      def m7(n) = n
      def <=>(other) = object_id <=> other.object_id
      def method_missing(name, *) = name == :absent ? m7(0) : super
      def respond_to_missing?(*) = false
      def to_s = "base"
      def thrower(n) = n.zero? ? throw(:deep) : thrower(n - 1)
      def raiser(n) = n.zero? ? raise(ArgumentError, "deep") : raiser(n - 1)
      def leaver(n)
        [1, 2].each { |x| return x }
      end
      def yielder = yield
      def self.made = new
      %%i[d0 d1].each { |name| define_method(name) { |n| m7(n) } }
    end

    class %<name>s < %<name>sBase
      Pair = Struct.new(:left, :right)

      def m7(n) = super
      alias_method :also, :m7
  RUBY

  STATEMENTS = [
    "%<call>s", "%<call>s", "%<call>s if n.positive?", "m%<me>d(n - 1) if n.positive?",
    "[1, 2].each { |_| %<call>s }", "2.times { %<call>s }", "[3, 1].sort_by { |x| -x }.map(&:to_s)", "'ab'.shout",
    "begin; %<call>s; raise ArgumentError; rescue ArgumentError; %<call>s; ensure; %<call>s; end",
    "begin; raiser(2); rescue ArgumentError; nil; end", "catch(:deep) { %<call>s; thrower(3) }", "catch(:done) { throw :done }",
    "Fiber.new { %<call>s; Fiber.yield; %<call>s }.resume", "Fiber.new { %<call>s; Fiber.yield; %<call>s }.then { |f| 2.times { f.resume } }",
    "[1, 2].each.then { |e| e.next; e.next }", "d0(n)", "d1(n)", "also(n)", "absent", "->(x) { %<call>s; x }.call(1)",
    "yielder { %<call>s }", "self.note = n; note", "Pair.new(1, 2).left", "(Integer('x') rescue 0)", "leaver(n)", "send(:m7, n)",
    "method(:d1).call(n)", "instance_exec { %<call>s }", "self > self.class.made", "\"\#{self}\"", "loop { %<call>s; break }",
    "loop { raise StopIteration }", "Thread.new { %<call>s }.value", "{ a: 1 }.each_pair { |k, v| k.to_s + v.to_s }",
    "[[2, 1], [1]].flat_map { |list| list.sort }.inject { |a, b| a + b }", "eval('m7(n)')", "proc { |x| next x }.call(1)",
    "define_singleton_method(:single) { %<call>s }; single"
  ].freeze

  def initialize(seed)
    @random = Random.new(seed)
    @name = "Random#{seed}"
  end

  # @return [String] a program; its last line is the name of a class whose `new.m0(2)` runs it
  def text
    methods = (0...(METHODS - 1)).map { |number| "  def m#{number}(n)\n#{body(number)}    n\n  end\n" }
    "#{format(HEAD, name: @name)}#{methods.join}end\n#{@name}\n"
  end

  private

  def body(number)
    Array.new(@random.rand(2..4)) { "    #{format(STATEMENTS.sample(random: @random), call: call(number), me: number)}\n" }.join
  end

  # Of a later method, so that there is an end.
  def call(number) = "m#{@random.rand((number + 1)...METHODS)}(n)"
end
