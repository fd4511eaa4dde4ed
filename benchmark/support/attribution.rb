# frozen_string_literal: true

# What a profile says of a program's methods, beside what was, in percentage points.
class Attribution
  # Where a thread waits for others: wall time that is not the program's CPU time, unless the program says that it times them.
  WAITING = %i[value join sleep].freeze

  # @param runs [Array<Hash>] of the same program, as one
  def self.of_all(runs)
    new(%i[said self_times].to_h { |key| [key, runs.map { |run| run[key] }.reduce { |all, more| all.merge(more) { |_, a, b| a + b } }] })
  end

  # @param run [Hash] with :said, the true times by method, and :self_times, the profile's weights by its names of them
  def initialize(run)
    @true = shares(run[:said])
    weights = run[:self_times].each_with_object(Hash.new(0)) { |(name, weight), sums| sums[bare(name)] += weight }
    @seen = shares(weights.except(*(WAITING - run[:said].keys)))
  end

  def mean = errors.values.sum(&:abs) / errors.size
  def worst = errors.values.map(&:abs).max
  def lost = 100 - @true.keys.sum { |name| @seen[name] }

  # How the share of `slowed` changed, and the largest change of another method that did not happen.
  def moved_since(base, slowed)
    changes = errors.to_h { |name, error| [name, error - base.errors[name]] }
    { seen: seen(slowed) - base.seen(slowed), was: truth(slowed) - base.truth(slowed),
      elsewhere: changes.except(slowed).values.map(&:abs).max }
  end

  def errors = @errors ||= @true.to_h { |name, share| [name, @seen[name] - share] }
  def seen(name) = @seen[name]
  def truth(name) = @true[name]

  private

  # Profilers write Array#sort, sort, or sort - <file>.
  def bare(name) = name.to_s[/\A(?:[\w:<>() ]*[#.])?(\w+[?!]?)/, 1].to_s.to_sym

  def shares(times)
    total = times.values.sum.to_f
    Hash.new(0.0).update(times.transform_values { |time| total.zero? ? 0.0 : time / total * 100 })
  end
end
