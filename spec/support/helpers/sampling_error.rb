# frozen_string_literal: true

# How far off a share of time may be that ticks have sampled: clocks know the sum of a thread, not of its methods and labels.
module SamplingError
  # Of n ticks, the square root of n. A run compares hundreds of times; five of it is what chance exceeds once in two million.
  DEVIATIONS = 5

  # @param ns [Numeric] the part
  # @param all [Numeric, nil] what it is part of, where that is known exactly
  # @param frequency [Numeric] ticks a second of CPU time, at the most
  # @param alike [Numeric] so many of them find the same piece of work: they come in bursts of four, a tick of the kernel apart
  # @return [Float] in nanoseconds
  def sampling_error(ns, all: nil, frequency: 99, alike: 2)
    others = all ? 1 - ns.fdiv(all) : 1
    DEVIATIONS * Math.sqrt(alike * [others, 0].max * ns * 1e9 / frequency)
  end
end
