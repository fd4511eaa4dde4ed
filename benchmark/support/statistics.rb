# frozen_string_literal: true

# What several measurements of the same thing say together. Medians: a shared machine has outliers in one direction.
module Statistics
  Spread = Data.define(:low, :median, :high)

  module_function

  def median(values) = quantile(values, 0.5)

  def quantile(values, share)
    sorted = values.sort
    position = (sorted.size - 1) * share
    below = sorted[position.floor]
    below + ((sorted[position.ceil] - below) * (position - position.floor))
  end

  # The median with the quartiles around it.
  def spread(values) = Spread.new(quantile(values, 0.25), median(values), quantile(values, 0.75))

  # Pairs of the same round, one measured shortly after the other: what slows the machine down slows both.
  def ratios(values, base) = values.zip(base).map { |value, of| value / of.to_f }
  def differences(values, base) = values.zip(base).map { |value, of| value - of }
end
