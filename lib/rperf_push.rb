# frozen_string_literal: true

require_relative "rperf_push/version"

module RperfPush
  # The C side. It leaves out of profiles what runs from this folder.
  module Native
    LIB_DIR = __dir__
  end
end

begin
  # A packaged gem carries one library per Ruby series, a checkout or an installed gem the one that was just built.
  require "rperf_push/#{RUBY_VERSION[/\A\d+\.\d+/]}/rperf_push"
rescue LoadError
  require "rperf_push/rperf_push"
end
require_relative "rperf_push/configuration"
require_relative "rperf_push/configuration_error"
require_relative "rperf_push/environment"
require_relative "rperf_push/on_demand"

# A continuous profiler: every process samples its own CPU and wall time and pushes a pprof to a backend at every interval.
#
#   RperfPush.configure do |config|
#     config.application_name = "shop"
#     config.server_address = "http://pyroscope:4040"
#   end
#
# All of it may be called from any thread at any time, whether or not profiling runs.
module RperfPush
  class << self
    # Starts profiling, or replaces the configuration that runs. Forked children carry the settings on.
    #
    # A mistake never reaches the application: it becomes one line in the log, nothing is started, and what ran before
    # runs on. Only what the block itself raises is passed through.
    #
    # @yieldparam config [Configuration] fresh; what it is not told comes from the environment, then from the defaults
    # @return [Boolean] true when the configuration is valid (it then runs, unless `enabled` is false)
    def configure(&block)
      configuration = configuration_from(&block)
      mistakes = apply(configuration)
      configuration.log_error("not started: #{mistakes.join("; ")}") if mistakes.any?
      mistakes.empty?
    end

    # As {configure}, for whoever wants to hear of mistakes at once.
    #
    # @yieldparam config [Configuration]
    # @return [true]
    # @raise [ConfigurationError] with all that is wrong, one line for each mistake
    def configure!(&block)
      mistakes = apply(configuration_from(&block))
      raise ConfigurationError, mistakes if mistakes.any?

      true
    end

    # Ends profiling: closes the window, sends what is left, ends the threads. `configure` may be called again afterwards.
    # At the end of the process this happens by itself.
    #
    # @param timeout [Numeric, nil] seconds to wait at the most; nil for the option `shutdown_timeout`
    # @return [void]
    def shutdown(timeout: nil)
      Native.shutdown(timeout)
    end

    # Closes the window now and waits until it is delivered.
    #
    # @param timeout [Numeric] seconds to wait at the most
    # @return [Boolean] false when it was not delivered in time, or nothing runs
    def flush(timeout: 5)
      Native.flush(timeout)
    end

    # @return [Boolean] whether this process is being profiled
    def running?
      Native.running?
    end

    # What the profiler did since this process began; docs/stats.md explains each entry.
    #
    # @return [Hash{Symbol => Integer, Float, String, Boolean, nil}] times in nanoseconds where the name ends in `_ns`
    def stats
      Native.stats
    end

    # Puts labels on the samples of this fiber, and of the fibers and threads it creates from now on.
    #
    #   RperfPush.label(tenant: "acme") { import }   # until the block ends, however it ends
    #   RperfPush.label(phase: "warm-up")            # from now on
    #   RperfPush.label(phase: nil)                  # no longer
    #
    # They are laid over the labels that are there. Values are converted with `to_s`, copied, and cut to 200 bytes. While
    # nothing is profiled they are not kept.
    #
    # @param labels [Hash{Symbol, String => #to_s, nil}] nil removes the key
    # @return [Object, nil] the block's value; nil without a block
    # @raise [ArgumentError] when a fiber would have more than 64
    def label(**labels, &block)
      return Native.with_labels(labels, &block) if block

      Native.label(labels)
      nil
    end

    # @return [Hash{Symbol => String}] the labels of this fiber; a copy
    def labels
      Native.labels
    end

    # Profiles on demand, beside the continuous session if that runs. With a block: profiles it and returns its data.
    # The end of the process ends it too; what nobody has asked for by then is dropped.
    #
    # @param frequency [Integer] Hz, 1..10,000
    # @param mode [Symbol, Array<Symbol>] :cpu, :wall, or both: then the weight is CPU time and wall time is under :values
    # @param lines [Boolean] frames become [path, label, line]
    # @param aggregate [Boolean] false keeps every capture, under :raw_samples
    # @param defer [Boolean] nothing is sampled, or paid for, outside of {profile} blocks
    # @param engine [Symbol] :auto, :signal, :safepoint
    # @return [Hash, true] with a block what {stop} returns
    # @raise [RuntimeError] when it runs already; the first one goes on
    # @raise [ArgumentError]
    def start(frequency: 1000, mode: :cpu, lines: false, aggregate: true, defer: false, engine: :auto)
      OnDemand.start(frequency:, mode:, lines:, aggregate:, defer:, engine:)
      return true unless block_given?

      begin
        yield
      ensure
        data = stop
      end
      data
    end

    # Ends what {start} began.
    #
    # @return [Hash, nil] nil when nothing ran. Weights and times in nanoseconds. :aggregated_samples has
    #   [frames, weight, thread_seq, label_set_id] for each stack, thread and label set; frames are [path, label], leaf first;
    #   label_set_id is the index in :label_sets. Waiting and GC are labels there: %GVL => blocked/wait, %GC => mark/sweep
    def stop
      OnDemand.complete(Native.stop)
    end

    # What {stop} would return now; profiling goes on.
    #
    # @param clear [Boolean] begin anew after this
    # @return [Hash, nil]
    def snapshot(clear: false)
      OnDemand.complete(Native.snapshot(clear))
    end

    # Samples while the block runs, all threads, and labels the calling one; only labels it when sampling is on anyway.
    #
    # @raise [RuntimeError] when {start} was not called
    # @raise [ArgumentError] without a block
    def profile(**labels, &block)
      raise ArgumentError, "profile needs a block" unless block

      Native.profile { labels.empty? ? yield : Native.with_labels(labels, &block) }
    end

    private

    def configuration_from
      Configuration.new.tap { |configuration| yield configuration if block_given? }
    end

    # @return [Array<String>] mistakes; when there are any, nothing was changed
    def apply(configuration)
      given = configuration.given
      texts = Environment.new(ENV).texts.except(*given.keys)
      load_railtie
      configuration.mistakes_among(Native.configure(given, texts, configuration.usable_logger))
    end

    # A Gemfile or a script may have had the gem loaded before Rails.
    def load_railtie
      require_relative "rperf_push/railtie" if defined?(::Rails::Railtie)
    end
  end
end

require_relative "rperf_push/railtie" if defined?(Rails::Railtie)
