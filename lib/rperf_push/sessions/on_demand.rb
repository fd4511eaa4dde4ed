# frozen_string_literal: true

require_relative "first_session"
require_relative "inheritance"
require_relative "start_options"
require_relative "../base/usage"
require_relative "../verbose"

module RperfPush
  # Sessions on demand, and the shape of what {RperfPush.stop} returns.
  module OnDemand
    OWN = 1 # who wants a session, as in rb_threads.h
    RECORDED = 2

    module_function

    # What becomes of the data beside being returned.
    Outcome = Struct.new(:output, :format, :verbose) do
      def initialize(...)
        super
        Formats.for_path(output, format) if output
      end

      def call(data)
        Notice.write(Verbose.text(data)) if verbose
        AtomicFile.write(output, Formats.encode(data, output, format)) if output
      end
    end

    # @param options [Hash] keywords of {StartOptions.checked}
    def start(outcome, inherit:, **options, &block)
      arguments = [OWN, *StartOptions.checked(**options), nil, StartOptions.inherited?(inherit)]
      FirstSession.begins
      usage = Usage.new
      # The block runs in there, so that nothing can come between the start and what makes sure of the end.
      if block
        return Inheritance.ending { finish(Native.start(*arguments) { Inheritance.begin(inherit, options, &block) }, outcome, usage.data) }
      end

      Inheritance.ending { start_for_later(arguments, inherit, options) }
      @outcome = outcome
      @usage = usage
      Viewer.instance&.follow if defined?(Viewer)
      true
    end

    def start_for_later(arguments, inherit, options)
      Native.start(*arguments)
      begin
        begun = Inheritance.begin(inherit, options)
      ensure
        Native.stop(OWN) unless begun
      end
    end

    # In a program that another one has started, which has begun the session: windows become files of the directory as well.
    def carry_on(directory, **options)
      FirstSession.begins
      Native.start(OWN, *StartOptions.checked(**options), directory, true)
    end

    # For {SessionMember}: windows become files of the directory, and {stop_recorded} has no samples to return.
    def record(directory, defer: false, **options)
      FirstSession.begins
      Native.start(RECORDED, *StartOptions.checked(defer:, **options), directory, false)
    end

    def stop_recorded = Native.stop(RECORDED)

    # What was used is read first: an interruption between the native call and the end of this one takes the data away.
    def stop
      used = @usage&.data
      Inheritance.ending { finish(Native.stop(OWN), @outcome, used) }
    end

    def finish(data, outcome, used)
      return unless complete(data, used)

      data = Inheritance.finish(data)
      outcome&.call(data)
      data
    end

    # @param clear [Boolean] counters begin anew after this
    def snapshot(clear)
      now = Usage.new
      used = @usage&.data(now)
      data = Native.snapshot(OWN, clear)
      @usage = now if data && clear
      complete(data, used)
    end

    # Adds which process it is and what it used, and sums samples that were kept apart, so that every consumer finds :aggregated_samples.
    def complete(data, used)
      return if data.nil?

      data.merge!(process_count: 1, pid: Process.pid, ppid: Process.ppid, total_duration_ns: data[:duration_ns], **used.to_h)
      data.merge!(summed(data)) unless data[:aggregated_samples]
      data
    end

    # The values of captures that were kept apart go under :raw_values.
    def summed(data)
      values = data[:values] || {}
      columns = [nil, *values.values]
      squares = Values.precision(data).count { |name| Values.squares?(name) }
      samples, sums = Native.sum_samples([[data[:raw_samples], columns, nil, nil]], columns.size, squares)
      { aggregated_samples: samples, **(values.any? ? { values: values.keys.zip(sums.drop(1)).to_h, raw_values: values } : {}) }
    end
  end
end
