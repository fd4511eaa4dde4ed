# frozen_string_literal: true

module RperfPush
  # Arguments of {RperfPush.start}, checked.
  module StartOptions
    MODES = Native.modes.freeze
    ALIASES = { object: :alloc }.freeze # what stackprof calls it
    INTERVALS = (1..1_000_000)
    ENGINES = { auto: 0, signal: 1, safepoint: 2 }.freeze # as in core/settings/settings_fields.h
    FREQUENCIES = (1..10_000)

    module_function

    # @return [Array] as Native.start has them
    def checked(frequency:, mode:, lines:, aggregate:, defer:, engine:, alloc_interval: nil, class_labels: false)
      unless frequency.is_a?(Integer) && FREQUENCIES.cover?(frequency)
        raise ArgumentError, "frequency must be an Integer from 1 to #{FREQUENCIES.max}, got #{frequency.inspect}"
      end

      [mode_bits(mode), frequency, lines, aggregate, defer, engine_number(engine), interval_number(alloc_interval), class_labels]
    end

    # For the environment of other processes: "frequency=99 mode=cpu,wall lines=true". No JSON: to load it before Bundler sets up would
    # activate another version than the bundle's.
    #
    # @param options [Hash] keywords of {checked}
    # @return [String] without blanks in a value
    def in_text(options)
      values, flags = options.partition { |name, _| READ.key?(name) }
      [*values.filter_map { |name, value| "#{name}=#{[*value].join(",")}" unless value.nil? },
       *flags.map { |name, value| "#{name}=#{value ? true : false}" }].join(" ")
    end

    # @param text [String] as {in_text} makes it
    # @return [Hash] keywords of {checked}
    def of_text(text)
      text.split.map { |pair| pair.split("=", 2) }.to_h { |name, value| [name.to_sym, READ.fetch(name.to_sym, FLAG).call(value)] }
    end

    FLAG = ->(text) { text == "true" }
    READ = { frequency: method(:Integer), mode: ->(text) { text.split(",").map(&:to_sym) }, engine: :to_sym.to_proc,
             alloc_interval: method(:Integer) }.freeze
    private_constant :FLAG, :READ

    # 0: allocations are sampled at random.
    def interval_number(alloc_interval)
      return 0 if alloc_interval.nil?
      return alloc_interval if alloc_interval.is_a?(Integer) && INTERVALS.cover?(alloc_interval)

      raise ArgumentError, "alloc_interval must be nil or an Integer from 1 to #{INTERVALS.max}, got #{alloc_interval.inspect}"
    end

    def mode_bits(mode)
      modes = Array(mode).map { |one| ALIASES.fetch(one, one) }
      unless modes.any? && modes.all? { |one| MODES.key?(one) }
        raise ArgumentError, "mode must be #{MODES.keys.map(&:inspect).join(", ")} or #{MODES.keys.inspect}, got #{mode.inspect}"
      end

      modes.map { |one| MODES[one] }.reduce(:|)
    end

    # The guide's `signal:`. The signal is SIGURG here, whatever the number.
    def engine_of(signal)
      return :safepoint if signal == false
      return :signal if signal == true || (signal.is_a?(Integer) && signal.positive?)

      raise ArgumentError, "signal must be nil, false or a signal's number, got #{signal.inspect}"
    end

    def inherited?(inherit)
      return inherit != false if Inheritance::KINDS.include?(inherit)

      raise ArgumentError, "inherit must be :fork, true or false, got #{inherit.inspect}"
    end

    def engine_number(engine)
      ENGINES.fetch(engine) { raise ArgumentError, "engine must be one of #{ENGINES.keys.inspect}, got #{engine.inspect}" }
    end
  end
end
