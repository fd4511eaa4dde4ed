# frozen_string_literal: true

# Environments that outlive their frames: while one moves to the heap, frames lead to what it was.
class Operations
  operation
  def lambda_in_block
    text = "x"
    text =~ /x/
    1.times { -> { text } }
  end

  operation
  def lambda_three_deep
    one = 1
    1.times { |two| 1.times { |three| 1.times { |four| -> { [one, two, three, four] }.call } } }
  end

  operation
  def lambda_with_match_three_deep
    text = "abc"
    1.times { text =~ /b/; 1.times { 1.times { -> { $~ && text } } } }
    $~.to_s
  end

  operation
  def proc_from_block = keep { |x| [x, self] }.call(1)
  def keep(&block) = block

  operation
  def block_passed_on = pass(&->(x) { x.to_s })
  def pass(&block) = [1, 2].map(&block)

  operation
  def block_given_and_lambda = given { |x| x + 1 }

  def given
    inner = ->(x) { yield(x) }
    1.times { |i| -> { inner.call(i) }.call }
  end

  operation
  def proc_new_in_block
    [1].each { |a| Proc.new { |b| [a, b] }.call(2) }
  end

  operation
  def binding_in_block
    local = 3
    1.times { |i| binding.local_variable_set(:local, i) }
    local.to_s
  end

  operation
  def curried = ->(a, b) { [a, b] }.curry[1][2]

  Closures = Class.new

  operation
  def methods_from_closures
    value = "v"
    value =~ /v/
    Class.new(Closures) do
      secret = value
      %w[a b].each { |name| define_method(name) { |x = 1| [secret, name, x] } }
    end.new.then { |made| [made.a, made.b(2)] }
  end

  operation
  def lambda_in_class_body
    seen = "seen"
    Class.new { seen =~ /s/; 1.times { -> { [seen, self] }.call } }
  end

  operation
  def lambda_in_eval = eval("text = 'x'; text =~ /x/; 1.times { -> { text } }", binding, __FILE__, __LINE__)

  operation
  def lambda_at_top_level = TOPLEVEL_BINDING.eval("at_top = 'x'; at_top =~ /x/; 1.times { -> { at_top } }")

  operation
  def lambda_in_fiber
    Fiber.new { |x| x =~ /x/; 1.times { -> { x } }; Fiber.yield(-> { x }); x }.then { |f| [f.resume("x"), f.resume] }
  end

  operation
  def thread_with_environment
    word = "w"
    word =~ /w/
    1.times { |i| Thread.new(i) { |j| [word, i, j] }.value }
  end

  operation
  def environment_of_a_raise
    value = 1
    begin
      1.times { kept = -> { value }; raise ArgumentError, kept.call.to_s }
    rescue ArgumentError => e
      -> { e.message + value.to_s }.call
    end
  end

  operation
  def lazy_enumerator = (1..3).lazy.map { |x| x * 2 }.select(&:even?).first(2)

  operation
  def refinement_of_a_block = instance_exec(2) { |x| -> { x + 1 }.call }

  operation
  def define_method_with_method_object
    Class.new { define_method(:shout, "a".method(:upcase).unbind.bind("b").to_proc) }.new.shout
  end
end
