# frozen_string_literal: true

# Profiles for Pyroscope carry a time chosen at random within their window. All the same it can be told whether windows follow
# each other without a gap or an overlap: then there is a first begin for which each time lies within its own window. A window that comes
# in parts, as no safepoint ended it, is several profiles of one duration, to the nanosecond.
module WindowsInARow
  TOLERANCE_NS = 1_000_000

  # @param profiles [Array<#time_nanos, #duration_nanos>]
  # @return [Boolean]
  def self.possible?(profiles)
    passed = 0
    begins = profiles.sort_by(&:time_nanos).chunk_while { |one, next_one| one.duration_nanos == next_one.duration_nanos }.flat_map do |parts|
      before = passed
      passed += parts.first.duration_nanos
      parts.map { |part| (part.time_nanos - passed)..(part.time_nanos - before) }
    end
    begins.map(&:begin).max <= begins.map(&:end).min + TOLERANCE_NS
  end
end
