# frozen_string_literal: true

# Profiles for Pyroscope carry a time drawn at random within their window. All the same it can be told whether windows follow
# each other without a gap or an overlap: then there is a first begin for which each time lies within its own window.
module WindowsInARow
  TOLERANCE_NS = 1_000_000

  # @param profiles [Array<#time_nanos, #duration_nanos>]
  # @return [Boolean]
  def self.possible?(profiles)
    passed = 0
    begins = profiles.sort_by(&:time_nanos).map do |profile|
      last = profile.time_nanos - passed
      passed += profile.duration_nanos
      (last - profile.duration_nanos)..last
    end
    begins.map(&:begin).max <= begins.map(&:end).min + TOLERANCE_NS
  end
end
