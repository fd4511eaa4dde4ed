# frozen_string_literal: true

class FakePyroscope
  # What has been accepted: for each series (labels and profile type) its stacks with their values, by time.
  class Storage
    Entry = Struct.new(:time_ms, :labels, :type, :stacks)

    # @param drop_duplicates [Boolean] whether a second profile of the same series and millisecond vanishes, as in v1
    def initialize(drop_duplicates:)
      @drop_duplicates = drop_duplicates
      @entries = []
      @seen = {}
      @lock = Mutex.new
    end

    # @param split [SplitProfile]
    # @param groups [Array<Array(Hash, Array<SplitProfile::Row>)>] checked labels with their rows
    def add(split, groups)
      @lock.synchronize do
        groups.each do |labels, rows|
          # A time within one profile is no duplicate, not even where two of its types have one name.
          entries = split.types.each_index.filter_map { |index| entry(split, labels, rows, index) }
          fresh = entries.reject { |entry| @drop_duplicates && @seen[key(entry)] }
          fresh.each { |entry| @seen[key(entry)] = true }
          @entries.concat(fresh)
        end
      end
    end

    # @param range [Range] times in ms
    # @param selector [#match?] of labels
    # @return [Array<Entry>]
    def select(range, selector)
      @lock.synchronize { @entries.select { |entry| range.cover?(entry.time_ms) && selector.match?(entry.labels) } }
    end

    private

    def key(entry) = [entry.labels, entry.time_ms]

    def entry(split, labels, rows, index)
      stacks = Hash.new(0)
      rows.each { |row| stacks[row.stack] += row.values[index] unless row.values[index].zero? }
      return if stacks.empty?

      Entry.new(split.time_ms, { **labels, **type_labels(labels, split, index) }, type_id(labels, split, index), stacks)
    end

    def type_id(labels, split, index) = [labels["__name__"], *split.types[index], *split.period_type].join(":")

    def type_labels(labels, split, index)
      { "__profile_type__" => type_id(labels, split, index), "__type__" => split.types[index][0],
        "__unit__" => split.types[index][1], "__period_type__" => split.period_type[0],
        "__period_unit__" => split.period_type[1], "__service_name__" => labels["service_name"] }
    end
  end
end
