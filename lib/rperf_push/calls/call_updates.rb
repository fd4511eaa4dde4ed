# frozen_string_literal: true

require_relative "call_filter"
require_relative "call_tree"
require_relative "../base/json_text"

module RperfPush
  # What calls do while they are traced, for a viewer: again and again what is new. It runs in a program that is not ours,
  # so it makes objects of new methods and threads only; all else is text that C writes.
  class CallUpdates
    # @param native [Native::Tracing] which has not begun
    # @param filter [CallFilter]
    # @param costs [Array] as of {CallCosts}
    def initialize(native, filter, costs)
      @native = native
      @filter = filter
      @firsts = {}
      @known = 0
      Native.calls_follow(native, costs)
    end

    # @return [Array(String, Boolean)] JSON, of which docs/control.md has the members, and whether there is more that is new
    def next
      methods = []
      threads = []
      loop do
        update = Native.calls_update(@native, "{\"methods\":#{JSONText.of(methods)},\"threads\":#{JSONText.of(threads)},")
        return update if update

        name_new(methods, threads)
      end
    end

    private

    # Other threads may run meanwhile, and call what is new again.
    def name_new(methods, threads)
      found, roots = Native.calls_unnamed(@native)
      as = found.map.with_index(@known) { |method, id| @filter.name(method, id, @firsts) }
      Native.calls_name(@native, as, roots.size)
      found.zip(as).each.with_index(@known) { |(method, becomes), id| methods << [id, *method.first(4)] if becomes == id }
      threads.concat(roots.map { |root| describe(*root) })
      @known += found.size
    end

    def describe(thread, fibers) = [CallTree.name_of(thread), fibers, thread == Thread.current]
  end
end
