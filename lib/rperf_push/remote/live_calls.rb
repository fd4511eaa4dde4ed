# frozen_string_literal: true

require_relative "../calls/call_data"
require_relative "../data/formats"

module RperfPush
  # Updates of a process whose calls are traced, as windows for the page. It keeps which methods and chains of calls there are, as the
  # process tells each one once. A window stands for itself. The thread that traces is not shown: it is none of the program's.
  class LiveCalls
    MOST_SAMPLES = 10_000 # of a window, so that an answer to a page is not too long
    VALUES = [:elapsed, :calls, *CallData::TIMES].freeze # besides self time, which is `wall`, as in the data of a trace
    UNITS = { **CallData.units([:wall]), elapsed: Values::NANOSECONDS }.freeze
    COLUMNS = [:node, :calls, :self, :wait, *CallTree::STATES].freeze # of a change
    # Labels of a sample that counts nothing, whatever it has: its thread, of that name, is there, in that state.
    POSITION = "%at"
    NAME = "%thread"
    SOMETHING = VALUES.to_h { |name| [name, 1] }.freeze # a sample of nothing would be left out

    def initialize
      @frames = {}
      @parents = []
      @methods = []
      @roots = []
      @threads = []
      @own = []
    end

    # @param update [Hash] a document as docs/control.md has it
    # @return [Array<String>] pprof, compressed
    def windows(update)
      learn(update)
      changes = update["changes"].each_slice(COLUMNS.size).map { |numbers| COLUMNS.zip(numbers).to_h }
      changes.reject! { |change| @own[@roots[change[:node]]] }
      *others, last = *changes.each_slice(MOST_SAMPLES), *([[]] if changes.empty?)
      [*others.map { |part| window(part, []) }, window(last, update["at"])]
    end

    private

    def learn(update)
      update["methods"].each { |id, label, path| @frames[id] = [path, label].freeze }
      @threads.concat(update["threads"].map(&:first))
      @own.concat(update["threads"].map(&:last))
      update["nodes"].each_slice(2) do |parent, method|
        @roots << (parent.negative? ? method : @roots[parent])
        @parents << (parent unless parent.negative?)
        @methods << method
      end
    end

    def window(changes, places)
      PProf.encode(mode: :wall, frequency: 0, units: UNITS, aggregated_samples: samples(changes) + positions(places),
                   values: columns(changes.map { |change| values_of(change) } + places.map { SOMETHING }),
                   label_sets: [{}, *places.map { |root, _, state| { POSITION => state, NAME => @threads[root] } }])
    end

    def samples(changes) = changes.map { |change| [stack(change[:node]), change[:self], @roots[change[:node]] + 1, 0] }
    def positions(places) = places.each_with_index.map { |(root, node), at| [stack(node), 0, root + 1, at + 1] }
    def columns(rows) = VALUES.to_h { |name| [name, rows.map { |row| row[name] }] }

    def values_of(change)
      elapsed = change[:self] + change[:wait]
      { elapsed:, gc: change[:gc_marking] + change[:gc_sweeping], **change.slice(:calls, :wait, :blocked, :waiting) }
    end

    # As CallTree::Node#frames.
    def stack(node)
      frames = []
      while (parent = @parents[node]) && frames.size < CallData::DEEPEST
        frames << @frames[@methods[node]]
        node = parent
      end
      frames << CallTree::Node::TRUNCATED if parent
      frames.empty? ? [CallTree::Node::ROOT] : frames
    end
  end
end
