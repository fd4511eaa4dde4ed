# frozen_string_literal: true

require_relative "../../examples/support/pprof_reader"

# The little of a pprof that a comparison needs.
module Pprof
  module_function

  # @return [Hash{String => Integer}] by the method that ran itself
  def self_times(bytes, type)
    profile = PprofReader.new(bytes)
    index = profile.sample_types.index(type) || 0
    profile.samples.each_with_object(Hash.new(0)) { |sample, sums| sums[sample.frames.first] += sample.values[index] }
  end

  # Profiles are found wherever they are in a request of Pyroscope's push API: series (1), samples (2), profile (1).
  def in_push_request(bytes)
    fields(bytes, 1).flat_map { |series| fields(series, 2) }.flat_map { |sample| fields(sample, 1) }
  end

  def fields(bytes, wanted)
    found = []
    PprofReader::Wire.each_field(bytes) { |number, value| found << value if number == wanted }
    found
  end
end
