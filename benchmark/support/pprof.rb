# frozen_string_literal: true

require_relative "../../spec/support/pprof_profile"
require_relative "../../spec/support/pyroscope_messages"

# The little of a pprof that a comparison needs.
module Pprof
  module_function

  # @return [Hash{String => Integer}] by the method that ran itself
  def self_times(bytes, type)
    profile = PprofProfile.from_bytes(bytes)
    index = profile.sample_types.index { |name, _| name == type } || 0
    profile.samples.each_with_object(Hash.new(0)) { |sample, sums| sums[sample.stack.first&.name] += sample.values[index] }
  end

  # @return [Array<String>] the profiles in a request of Pyroscope's push API
  def in_push_request(bytes)
    PyroscopeMessages::PUSH["PushRequest"].decode(bytes).series.flat_map { |series| series.samples.map(&:raw_profile) }
  end
end
