# frozen_string_literal: true

# How a run is profiled: here not at all. The others say what differs.
class Profiler
  # @param hz [Integer] samples a second
  # @param sink [String] a URL that takes whatever is pushed to it
  # @param folder [String] for files; gone after the run
  def initialize(hz:, sink:, folder:, **options)
    @hz = hz
    @sink = sink
    @folder = folder
    @options = options
  end

  def load; end
  def start; end
  def stop; end

  # What the profiler says of itself while it works, if it does.
  def stats = nil

  # After stop: the weight of each method that ran itself, by name.
  def self_times = raise(NotImplementedError)

  private

  def interval_us = 1_000_000 / @hz
end
