# frozen_string_literal: true

require "monitor"
require_relative "formats"

module RperfPush
  # The paths that profiles name. Of all files that the user may read, the page is given these alone.
  class NamedSources
    MOST = 100_000

    # @param entries [Array<Page::Entry>] which are read when a path is asked for
    # @param limit [Limit] of each profile
    def initialize(entries = [], limit = Limit.new)
      @limit = limit
      @unread = entries.dup
      @paths = {}
      @lock = Monitor.new
    end

    # @param bytes [String] of a profile
    # @raise [FormatError]
    def learn(bytes, name)
      data = Formats.decode(bytes, name, @limit)
      @lock.synchronize { add(data) }
    end

    def include?(path)
      @lock.synchronize do
        read(@unread.shift) until @unread.empty? || @paths.key?(path)
        @paths.key?(path)
      end
    end

    private

    # The page says itself which file it can not read.
    def read(entry)
      learn(entry.bytes.call, entry.name)
    rescue FormatError
      nil
    end

    def add(data)
      Values.samples(data).each do |sample|
        sample[0].each { |frame| @paths[frame[0]] = true if @paths.size < MOST }
      end
    end
  end
end
