# frozen_string_literal: true

# A stack of names, root first. What runs in the same method one after the other - its blocks, what rescues in it - is one name.
class Stack
  attr_reader :names, :seen

  # Addresses are of this object, in this run.
  def self.tidy(names) = names.map { |name| name.to_s.gsub(/0x\h+/, "0x") }.chunk_while { |a, b| a == b }.map(&:first)

  # Without who called it.
  def self.of_operation(names) = tidy(names.drop_while { |name| !name.to_s.start_with?("Operations#") })

  def initialize(names, on_base, leaves_only, seen)
    @names = on_base ? Stack.of_operation(names) : Stack.tidy(names)
    @leaves_only = leaves_only
    @seen = seen
  end

  def leaves_only? = @leaves_only
end

# The stacks that are there by the VM's own events.
class Truth
  EVENTS = %i[call c_call b_call return c_return b_return line class end raise].freeze

  def initialize
    @stacks = Set[[]]
    @c_stacks = Set.new
    @ruby_stacks = Set.new
    @one_stack = true
  end

  # No fiber or thread took part.
  def one_stack? = @one_stack

  # @return [Set<Array<String>>] whose leaf is a method in Ruby; not of those that the VM brings along, which may need no frame
  attr_reader :ruby_stacks

  def listen
    @base = nil
    trace = TracePoint.new(*EVENTS) { |event| hear(event, RperfPush::Native.stack_names) }
    trace.enable
    @base = RperfPush::Native.stack_names
    yield
  ensure
    trace.disable
  end

  # @param apart [Array<String>] methods that may begin on top of any stack
  def include?(stack, apart)
    return true if known?(stack.names)
    return ends.include?(stack.names.drop(1)) if stack.leaves_only?

    at = stack.names.index { |name| apart.include?(name) }
    at && known?(stack.names.take(at)) && ends.include?(stack.names.drop(at))
  end

  # What -> {} and the like call, methods of an object that has a name since Ruby 4.0; and what a job of the profiler calls.
  UNHEARD = /\A((#<Class:0x>|RubyVM::FrozenCore)\.(lambda|proc|core#.+)|Thread\.list)\z/

  private

  # No event tells of those, nor of a block in C: its frame is one more of a method that is there already.
  def known?(names)
    @stacks.include?(names) || @c_stacks.include?([*names[0...-1], bare(names.last)]) ||
      ((names[0...-1].include?(names.last) || UNHEARD.match?(names.last)) && known?(names[0...-1]))
  end

  def hear(event, names)
    return unless @base

    names = names[0...-1] # the block that hears
    on_base = names.take(@base.size) == @base
    @one_stack &&= on_base
    names = names.drop(@base.size) if on_base
    names = on_base ? Stack.of_operation(names) : Stack.tidy(names)
    names.size.downto(1) { |size| @stacks << names.take(size) } # each of them was there before
    hear_c_call(names, event) if event.event == :c_call
    @ruby_stacks << names if %i[call b_call].include?(event.event) && names.any? && !event.path.start_with?("<internal:")
  end

  # It comes before the frame. Where nobody listens, operators of Hash, Array and the like have no frame of their own.
  def hear_c_call(names, event)
    caller_is_in_c = names.any? && @c_stacks.include?([*names[0...-1], bare(names.last)])
    [names, (names[0...-1] if caller_is_in_c)].compact.each do |below|
      @c_stacks << [*below, event.method_id.to_s] << [*below, event.callee_id.to_s]
    end
  end

  def bare(name) = name.to_s[/[^.#]+\z/]

  # Every part of them that ends where they end.
  def ends = @ends ||= @stacks.flat_map { |names| Array.new(names.size + 1) { |i| names.drop(i) } }.to_set
end
