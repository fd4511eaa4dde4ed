# frozen_string_literal: true

require_relative "call_trace"

module RperfPush
  # Traces this process for someone outside. ext/rperf_push/rb_call_attach.c calls it, in a thread of its own.
  class CallAttachment
    THREAD_NAME = "rperf-push trace"

    # @return [CallAttachment] which has begun
    #
    # @param only [Array<String>] patterns of {CallFilter}, as {ControlClient} escapes them; empty: all methods. `except` likewise
    def self.begin(max_nodes, c_methods, blocks, only, except)
      Thread.current.name = THREAD_NAME
      Thread.current.report_on_exception = false
      only, except = [only, except].map { |patterns| patterns.map { |pattern| plain(pattern) } }
      new(CallTrace.new(c_methods:, blocks:, max_nodes:, only: (only if only.any?), except:))
    end

    def self.plain(pattern) = pattern.b.gsub(/%(\h\h)/) { $1.hex.chr }.force_encoding(Encoding::UTF_8)
    private_class_method :plain

    def initialize(trace)
      @trace = trace
      trace.start
    end

    # (see CallTrace#pause)
    def pause = @trace.pause
    # (see CallTrace#resume)
    def resume = @trace.resume

    # @return [String] the tree as JSON
    def result = @trace.tree.to_json
  end
end
