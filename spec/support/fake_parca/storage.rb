# frozen_string_literal: true

require_relative "../pprof_profile"

class FakeParca
  # What has been taken: for each series (labels and profile type) its stacks with their values, by time. Labels of samples
  # are lost.
  class Storage
    Entry = Struct.new(:time_ms, :labels, :type, :stacks)

    def initialize
      @entries = []
      @lock = Mutex.new
    end

    # @param labels [Hash{String => String}] of the series, __name__ among them
    # @param profile [PprofMessages::WireProfile]
    def add(labels, profile)
      read = PprofProfile.from_message(profile)
      entries = read.sample_types.each_index.filter_map { |index| entry(labels, read, index) }
      @lock.synchronize { @entries.concat(entries) }
    end

    # @param range [Range, nil] times in ms; nil for all there are
    # @param selector [#match?] of labels
    # @return [Array<Entry>]
    def select(range, selector)
      @lock.synchronize do
        @entries.select { |entry| (range.nil? || range.cover?(entry.time_ms)) && selector.match?(entry.labels) }
      end
    end

    private

    def entry(labels, profile, index)
      stacks = Hash.new(0)
      profile.samples.each { |sample| stacks[sample.stack] += sample.values[index] unless sample.values[index].zero? }
      return if stacks.empty?

      Entry.new(profile.time_nanos / 1_000_000, labels.except("__name__"), type(labels, profile, index), stacks)
    end

    def type(labels, profile, index)
      delta = "delta" unless profile.duration_nanos.zero?
      [labels["__name__"], *profile.sample_types[index], *profile.period_type, delta].compact.join(":")
    end
  end
end
