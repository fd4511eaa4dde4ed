# frozen_string_literal: true

module RperfPush
  # Stacks with known frames, to verify that the C code reads this Ruby's stacks correctly (ext/rperf_push/ruby/frames/rb_walk.h): methods
  # of its own objects, below blocks, lambdas, procs that became methods, class bodies, evals and fibers.
  module WalkCheck
    # One object of the stack; its method calls the next one.
    class Link
      def initialize(following) = @following = following

      def check(selves)
        selves = [self, *selves]
        return Native.walk_agrees?([Native, *selves]) unless @following

        @following.check(selves)
      end
    end

    class << self
      # In a fiber, which begins with an empty stack: an application may call configure below hundreds of frames.
      def agrees?
        ways = [method(:in_methods), method(:in_blocks), method(:in_closures), method(:in_class_body), method(:in_eval), method(:in_fiber)]
        Fiber.new { ways.all?(&:call) }.resume
      end

      private

      # The frames follow each other directly: the C method's, then the links, innermost first.
      def in_methods = Link.new(Link.new(Link.new(nil))).check([])

      def in_blocks
        [1].all? { 1.times.all? { { key: 1 }.all? { in_methods } } }
      end

      # Nested environments on the heap; with $~ the outermost one contains more than its method.
      def in_closures
        return false unless "closure" =~ /o/

        check = ->(depth) { depth.zero? ? in_methods : proc { |less| check.call(less) }.call(depth - 1) }
        holder = Class.new { define_method(:check) { check.call(2) } }
        holder.new.check && binding.local_variable_get(:check).call(1) && !Regexp.last_match.nil?
      end

      def in_class_body
        agreed = false
        Class.new { agreed = WalkCheck.send(:in_methods) }
        agreed
      end

      def in_eval = instance_eval("binding.eval('in_methods')", __FILE__, __LINE__)

      def in_fiber = Fiber.new { in_methods && in_closures }.resume
    end
  end
end
