# frozen_string_literal: true

module RperfPush
  # Arguments of {RperfPush.start}, checked, and the shape of what {RperfPush.stop} returns.
  module OnDemand
    CPU = 1
    WALL = 2
    MODES = { cpu: CPU, wall: WALL }.freeze
    ENGINES = { auto: 0, signal: 1, safepoint: 2 }.freeze # as in core/settings.h
    FREQUENCIES = (1..10_000)

    module_function

    def start(frequency:, mode:, lines:, aggregate:, defer:, engine:)
      unless frequency.is_a?(Integer) && FREQUENCIES.cover?(frequency)
        raise ArgumentError, "frequency must be an Integer from 1 to #{FREQUENCIES.max}, got #{frequency.inspect}"
      end

      Native.start(mode_bits(mode), frequency, lines, aggregate, defer, engine_number(engine))
    end

    # Sums samples that were kept apart, so that every consumer finds :aggregated_samples.
    def complete(data)
      return data if data.nil? || data[:aggregated_samples]

      summed = Hash.new(0)
      data[:raw_samples].each { |frames, weight, seq, labels| summed[[frames, seq, labels]] += weight }
      data[:aggregated_samples] = summed.map { |(frames, seq, labels), weight| [frames, weight, seq, labels] }
      data
    end

    def mode_bits(mode)
      modes = Array(mode)
      unless modes.any? && modes.all? { |one| MODES.key?(one) }
        raise ArgumentError, "mode must be :cpu, :wall or [:cpu, :wall], got #{mode.inspect}"
      end

      modes.uniq.sum { |one| MODES[one] }
    end

    def engine_number(engine)
      ENGINES.fetch(engine) { raise ArgumentError, "engine must be one of #{ENGINES.keys.inspect}, got #{engine.inspect}" }
    end
  end
end
