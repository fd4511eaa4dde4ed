# frozen_string_literal: true

# How long each method ran itself, and with what it called, in nanoseconds.
class MethodTimes
  Row = Struct.new(:name, :self_time, :total_time)

  # A block's time is its method's, for who wants to know what to improve.
  BLOCK = /\A(?:(?:block|rescue|ensure)(?: \(\d+ levels\))? in )+/

  def initialize(source, type, labels = {})
    @rows = Hash.new { |rows, name| rows[name] = Row.new(name, 0, 0) }
    source.each_sample(type, labels) { |frames, time| add(frames.map { |frame| frame.sub(BLOCK, "") }, time) }
  end

  def top_by_self(count) = @rows.values.max_by(count, &:self_time)
  def top_by_total(count, pattern) = @rows.values.select { |row| row.name.match?(pattern) }.max_by(count, &:total_time)
  def total_time(name) = @rows.key?(name) ? @rows[name].total_time : 0

  private

  # A method that is on the stack twice still takes the time once.
  def add(frames, time)
    return if frames.empty?

    @rows[frames.first].self_time += time
    frames.uniq.each { |frame| @rows[frame].total_time += time }
  end
end
