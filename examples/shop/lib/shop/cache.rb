# frozen_string_literal: true

module Shop
  # Least recently used out first. Values are kept as bytes, as a cache server would: each hit makes a fresh copy, so that
  # nobody changes what others read, and the garbage collector gets its share of the work.
  class Cache
    Entry = Struct.new(:bytes, :expires_at)

    def initialize(capacity: 200, seconds: 2)
      @capacity = capacity
      @seconds = seconds
      @entries = {}
      @lock = Mutex.new
    end

    def fetch(key)
      bytes = read(key)
      return Marshal.load(bytes) if bytes # rubocop:disable Security/MarshalLoad -- written below, by this process

      yield.tap { |value| write(key, Marshal.dump(value)) }
    end

    private

    def read(key)
      @lock.synchronize do
        entry = @entries.delete(key)
        next if entry.nil? || entry.expires_at < now

        @entries[key] = entry
        entry.bytes
      end
    end

    def write(key, bytes)
      @lock.synchronize do
        @entries[key] = Entry.new(bytes, now + @seconds)
        @entries.shift while @entries.size > @capacity
      end
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
