# frozen_string_literal: true

require_relative "../../spec/support/pprof_profile"

# The profiles that the :directory backend wrote, as one.
class ProfileFiles
  attr_reader :paths

  def initialize(paths)
    @paths = paths.sort
    @profiles = @paths.map { |path| PprofProfile.read(path) }
  end

  def empty? = @profiles.all? { |profile| profile.samples.empty? }
  def description = "#{@paths.size} #{@paths.size == 1 ? "file" : "files"}, #{@paths.sum { |path| File.size(path) } / 1024} KiB"

  # Yields the frames and nanoseconds of each sample of a type ("cpu", "wall") whose labels fit: a value, or :any.
  def each_sample(type, labels = {})
    @profiles.each do |profile|
      index = profile.sample_types.index { |name, _| name == type } or next
      profile.samples.each do |sample|
        yield sample.stack.map(&:name), sample.values[index] if fits?(sample.labels, labels)
      end
    end
  end

  def total(type, labels = {})
    sum = 0
    each_sample(type, labels) { |_, nanoseconds| sum += nanoseconds }
    sum
  end

  # Names of the labels that are text, as backends keep only those.
  def label_names = label_sets.flat_map(&:keys).uniq.sort

  def label_values(name) = label_sets.filter_map { |labels| labels[name] }.uniq.sort

  private

  def label_sets = @label_sets ||= @profiles.flat_map { |profile| profile.samples.map(&:labels) }.uniq

  def fits?(has, wanted)
    wanted.all? { |name, value| value == :any ? has.key?(name) : has[name] == value }
  end
end
