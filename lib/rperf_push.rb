# frozen_string_literal: true

require_relative "rperf_push/library"
require_relative "rperf_push/version"

module RperfPush
  # The C extension. It leaves code from this folder out of profiles.
  module Native
    LIB_DIR = __dir__
  end
end

RperfPush::Library.load
require_relative "rperf_push/calls/call_trace"
require_relative "rperf_push/settings/configuration"
require_relative "rperf_push/settings/configuration_error"
require_relative "rperf_push/data/difference"
require_relative "rperf_push/settings/environment"
require_relative "rperf_push/data/formats/collapsed"
require_relative "rperf_push/data/formats/pprof"
require_relative "rperf_push/data/formats/text"
require_relative "rperf_push/data/merge"
require_relative "rperf_push/sessions/on_demand"
require_relative "rperf_push/base/walk_check"
require_relative "rperf_push/integrations/await_rails"
require_relative "rperf_push/sessions/replacement"
require_relative "rperf_push/data/report"
require_relative "rperf_push/settings/start_line"

# A continuous profiler: every process samples its own CPU and wall time and pushes a pprof to a backend in every interval.
#
#   RperfPush.configure do |config|
#     config.application_name = "shop"
#     config.server_address = "http://pyroscope:4040"
#   end
#
# All methods may be called from any thread at any time, whether or not profiling runs.
module RperfPush
  # Loaded where they are used first: they need gems that come with Ruby. If RUBYOPT loads this file, Bundler has not yet chosen
  # the versions of those.
  autoload :FormatError, "#{__dir__}/rperf_push/data/formats"
  autoload :Formats, "#{__dir__}/rperf_push/data/formats"
  autoload :JSONFile, "#{__dir__}/rperf_push/data/formats/json_file"
  autoload :Meta, "#{__dir__}/rperf_push/data/meta"
  autoload :Table, "#{__dir__}/rperf_push/data/table"

  class << self
    # Starts profiling, or replaces the running configuration. Forked children inherit the settings.
    #
    # An error raises nothing: it becomes one line in the log, nothing is started, and the previous session continues.
    # Exceptions of the block itself are passed on. So is an interrupt of the call while it waits for the end of the previous
    # session; then no session runs.
    #
    # @yieldparam config [Configuration] a new one; options that it does not set come from the environment, then from the defaults
    # @return [Boolean] true if the configuration is valid (it then runs, unless `enabled` is false)
    def configure(&block)
      configuration = configuration_from(&block)
      errors = apply(configuration)
      configuration.log(:error, "not started: #{errors.join("; ")}") if errors.any?
      errors.empty?
    end

    # The same as {configure}, but it raises what is wrong.
    #
    # @yieldparam config [Configuration]
    # @return [true]
    # @raise [ConfigurationError] with one line for each error
    def configure!(&block)
      errors = apply(configuration_from(&block))
      raise ConfigurationError, errors if errors.any?

      true
    end

    # Ends profiling: closes the window, sends the remaining profiles, ends the threads. `configure` may be called again afterwards.
    # The end of the process calls it automatically. An interrupt (Timeout, Thread#raise, Ctrl-C, ...) ends the call and
    # profiling at once; profiles that are not sent by then are lost and counted, or stay in the spool.
    #
    # @param timeout [Numeric, nil] the longest wait in seconds; nil means the option `shutdown_timeout`
    # @return [void]
    def shutdown(timeout: nil)
      Native.shutdown(timeout)
    end

    # Closes the window now and waits until it is delivered. An interrupt ends only the wait.
    #
    # @param timeout [Numeric] the longest wait in seconds
    # @return [Boolean] false if it was not delivered in time, or if nothing runs
    def flush(timeout: 5)
      Native.flush(timeout)
    end

    # @return [Boolean] whether this process profiles itself: by {configure}, or by {start}. What others record of it does not count
    def running?
      Native.running? || Native.recording?
    end

    # Statistics of the profiler since this process began; docs/stats.md explains each entry.
    #
    # @return [Hash{Symbol => Integer, Float, String, Boolean, nil}] names that end in `_ns` are nanoseconds
    def stats
      Native.stats
    end

    # Puts labels on the samples of this fiber, and of the fibers and threads it creates from now on.
    #
    #   RperfPush.label(tenant: "acme") { import }   # until the block ends, also by an exception
    #   RperfPush.label(phase: "warm-up")            # from now on
    #   RperfPush.label(phase: nil)                  # no longer
    #
    # They are merged into the existing labels. Values are converted with `to_s`, copied, and cut to 200 bytes. A fiber has
    # at most 64 labels; more are left out and counted (`labels_dropped`). While nothing is profiled, labels are not kept.
    #
    # @param labels [Hash{Symbol, String => #to_s, nil}] nil removes the key
    # @return [Object, nil] the block's value, or nil without a block
    def label(**labels, &block)
      return Native.with_labels(labels, &block) if block

      Native.label(labels)
      nil
    end

    # @return [Hash{Symbol => String}] the labels of this fiber; a copy
    def labels
      Native.labels
    end

    # Counts the stack it is called from: cache misses, retries, bytes sent. Each call counts, in every session that runs; with nothing
    # running, and in other Ractors, it does nothing.
    #
    #   RperfPush.sample                                                  # one of `samples`
    #   RperfPush.sample(name: :cache_misses, endpoint: "GET /orders")
    #   RperfPush.sample(payload.bytesize, name: :bytes_sent)
    #
    # What cannot be counted raises nothing: `samples_refused` counts it, and the log has one line.
    #
    # @param weight [Integer] how many, from 0 to 2**48
    # @param name [Symbol] the value; with {declare} it has a unit, else it is a count. A process has 16 of them at most
    # @param labels [Hash{Symbol => #to_s}] for this sample only, merged into those of the fiber
    # @!method sample(weight = 1, name: :samples, **labels)
    # @return [nil]

    # Gives a value of {sample} its unit, before it is first counted.
    #
    #   RperfPush.declare(:bytes_sent, unit: "bytes")
    #
    # @param name [Symbol] of letters, digits and _
    # @param unit [String, Symbol] "count", "bytes", "nanoseconds", or a word of your own
    # @return [nil]
    # @raise [ArgumentError] if the name or the unit is none, or the name has another unit
    def declare(name, unit: "count")
      Native.declare(name, unit)
    end

    # Profiles on demand, beside the continuous session if that runs. With a block: profiles it and returns its data.
    # It ends with the process; data that {stop} has not returned by then is dropped.
    #
    # @param frequency [Integer] Hz, 1..10,000
    # @param mode [Symbol, Array<Symbol>] :cpu, :wall, :alloc (also called :object), :heap, :contention, :custom, or several: the weight is
    #   the first of them, in this order, and the others are under :values. Allocations are :alloc_objects and :alloc_space
    # @param alloc_interval [Integer, nil] each how many-th allocation is captured; 1: each one. nil: some, at random, and the VM's counter
    #   is shared out over them
    # @param class_labels [Boolean] the class of allocated objects is a label, `class`, instead of the leaf frame
    # @param lines [Boolean] frames become [path, label, line]
    # @param aggregate [Boolean] false keeps every capture, under :raw_samples
    # @param defer [Boolean] nothing is sampled, or paid for, outside of {profile} blocks
    # @param engine [Symbol] :auto, :signal, :safepoint
    # @param signal [false, Integer, nil] in rperf's words: false is engine :safepoint, a number engine :signal
    # @param output [String, nil] where {stop} writes the data as well
    # @param format [Symbol, nil] of the output; nil: what its extension says
    # @param inherit [:fork, true, false] :fork: forked children carry the session on, as it was begun; a `start` of their own replaces it.
    #   What those recorded that have ended or stopped by then is in what {stop} returns here, labelled with %pid; with aggregate: false
    #   it is not.
    #   true: Ruby programs that are started do so, too; until the end RUBYOPT and RUBYLIB in ENV tell them. One that is killed
    #   loses its last two seconds at the most
    # @param verbose [Boolean] {stop} writes what was sampled, and the top functions, to standard error
    # @return [Hash, true] with a block what {stop} returns. However the block ends, profiling ends with it; what an exception
    #   leaves behind is dropped
    # @raise [RuntimeError] when it runs already; the first one goes on
    # @raise [ArgumentError]
    def start(frequency: 1000, mode: :cpu, lines: false, aggregate: true, defer: false, engine: :auto, signal: nil, output: nil,
              format: nil, verbose: false, inherit: :fork, alloc_interval: nil, class_labels: false, &)
      engine = StartOptions.engine_of(signal) unless signal.nil?
      outcome = OnDemand::Outcome.new(output, format, verbose)
      OnDemand.start(outcome, frequency:, mode:, lines:, aggregate:, defer:, engine:, alloc_interval:, class_labels:, inherit:, &)
    end

    # Ends the session that {start} began. If the call is interrupted (Timeout, Thread#raise, ...), the session continues, and
    # `stop` may be called again.
    #
    # @return [Hash, nil] nil if nothing ran. Weights and times are nanoseconds. :aggregated_samples has
    #   [frames, weight, thread_seq, label_set_id] for each stack, thread and label set; frames are [path, label], leaf first;
    #   label_set_id is the index in :label_sets. Waiting and GC are labels: %GVL => blocked/wait, %GC => mark/sweep. :values also has
    #   :samples and :weight_squares, for each row: two standard errors of some rows are 2 * Math.sqrt(the sum of their squares)
    def stop
      OnDemand.stop
    end

    # Returns what {stop} would return now; profiling continues.
    #
    # @param clear [Boolean] starts again at zero afterwards; an interrupted call clears nothing
    # @return [Hash, nil]
    def snapshot(clear: false)
      OnDemand.snapshot(clear)
    end

    # Writes data to a file, whole or not at all.
    #
    # @param path [String]
    # @param data [Hash] as {stop} returns it
    # @param format [Symbol, nil] :json, :pprof, :collapsed, :text; nil means the format of the extension (.json.gz, .json, .pb.gz,
    #   .collapsed, .txt), or else pprof
    # @return [Integer] bytes written
    # @raise [ArgumentError] if there is no such format, or if the data is not a profile
    # @raise [SystemCallError] if the file cannot be written; the old file is then unchanged
    def save(path, data, format: nil)
      AtomicFile.write(path.to_s, Formats.encode(data, path.to_s, format))
    end

    # Reads a file of {save}, of rperf, or a pprof or collapsed one of any producer: what is in it decides, not its name.
    #
    # @param max_bytes [Integer] a file with more bytes, uncompressed, is refused, and one whose content would take more than six
    #   times as much memory
    # @return [Hash] as {stop} returns it
    # @raise [FormatError] with the file's name and what is wrong
    def load(path, max_bytes: Limit::BYTES)
      Formats.load(path.to_s, Limit.new(max_bytes))
    end

    # What a JSON file begins with, of {save} or of rperf since 0.10. No more than that is read, however large the file is.
    #
    # @return [Hash, nil] :meta and :summary; nil for other files, and for those that cannot be read
    def read_meta(path)
      Formats.read_meta(path.to_s)
    end

    # Samples all threads while the block runs, and labels the calling thread. If sampling is already on, by {start} or by
    # {configure}, it only labels.
    #
    # @raise [RuntimeError] when nothing runs
    # @raise [ArgumentError] without a block
    def profile(**labels, &block)
      raise ArgumentError, "profile needs a block" unless block

      Native.profile { labels.empty? ? yield : Native.with_labels(labels, &block) }
    end

    # Traces every call of all threads of the main Ractor while the block runs: how often each method is called, from where, and how
    # long it takes. This slows a program down several times, and switches JIT code off for the methods that run; the time of
    # tracing itself is measured and taken out as far as it is known.
    #
    #   data = RperfPush.trace(except: Integer) { work }
    #   puts data[:tree].report(:graph)
    #
    # @param mode [Symbol, Array<Symbol>] :wall, :cpu (of the process: dear, two system calls for each call), :alloc (objects), or several
    # @param only [Array, Regexp, Module, String, nil] methods to show: labels, classes or paths; the others' time is their caller's
    # @param except [Array, Regexp, Module, String, nil] methods not to show
    # @param c_methods [Boolean] false: methods written in C are a part of their caller
    # @param blocks [Boolean] true: blocks are nodes of their own, else a part of what calls them
    # @param max_nodes [Integer] chains of calls; calls past this number are counted by method, below (other)
    # @yieldparam trace [CallTrace::Control] has `pause` and `resume`
    # @return [Hash] as {stop} returns it, with :calls and :wait in :values, and a {CallTree} under :tree; what an exception leaves behind
    #   is dropped
    # @raise [RuntimeError] when calls are traced already
    # @raise [ArgumentError]
    def trace(mode: :wall, only: nil, except: nil, c_methods: true, blocks: false, max_nodes: CallTrace::MAX_NODES, &block)
      raise ArgumentError, "trace needs a block" unless block

      CallTrace.run(block, mode:, only:, except:, c_methods:, blocks:, max_nodes:)
    end

    private

    def configuration_from
      Configuration.new.tap { |configuration| yield configuration if block_given? }
    end

    # @return [Array<String>] errors; when there are any, nothing was changed
    def apply(configuration)
      environment = Environment.new(ENV)
      environment.misspelt.each { |line| configuration.log(:warn, line) }
      given, texts = configuration.over(environment.texts)
      arguments = [given, texts, configuration.usable_logger, configuration.own_errors]
      errors = Native.configure(*arguments)
      return errors if errors.any?

      FirstSession.begins if Native.running?
      Replacement.configured = arguments
      StartLine.new(configuration).say
      errors
    end
  end
end

RperfPush::AwaitRails.start
RperfPush::Replacement.watch
