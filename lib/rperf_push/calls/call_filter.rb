# frozen_string_literal: true

module RperfPush
  # Which methods a call tree shows. Others give their time, and the calls that they make, to their caller.
  class CallFilter
    # @param only [Array, Object, nil] methods to show; nil: all
    # @param except [Array, Object, nil] methods not to show. Both are Regexps (found in the label or in the path), classes and
    #   modules, or texts: a label ("Shop::Cart#total"), a class ("Shop::Cart"), or a path that may have * and ** in it
    def initialize(only: nil, except: nil)
      @only = patterns(only)
      @except = patterns(except) || []
    end

    # @param methods [Array] as of Native.calls_facts
    # @return [Array<Integer, nil>] for each method what it becomes: itself, an earlier one that is the same, or nothing
    def names(methods)
      firsts = {}
      methods.each_with_index.map { |method, id| name(method, id, firsts) }
    end

    # @param method [Array] one of those
    # @param firsts [Hash] of those before it
    # @return [Integer, nil]
    def name(method, id, firsts)
      label, path, line, kind, class_name, own = method
      return id if kind == :other

      firsts[[label, path, line]] ||= id if !own && shown?(label, path, class_name)
    end

    private

    def patterns(given)
      return if given.nil?

      Array(given).map do |pattern|
        case pattern
        when Regexp, String then pattern
        when Symbol, Module then pattern.to_s
        else raise ArgumentError, "a method must be a Regexp, a class or a text, got #{pattern.inspect}"
        end
      end
    end

    def shown?(*names)
      (@only.nil? || @only.any? { |pattern| matches?(pattern, *names) }) &&
        @except.none? { |pattern| matches?(pattern, *names) }
    end

    def matches?(pattern, label, path, class_name)
      return label.match?(pattern) || path.match?(pattern) if pattern.is_a?(Regexp)

      pattern == label || pattern == class_name || (path != "" && File.fnmatch?(pattern, path))
    end
  end
end
