# frozen_string_literal: true

require "zlib"

# What threads of an application do: wait, then work. Each act is a method of its own that calls no other, and its thread's CPU
# clock times it while it runs. So the share of each act is known, whatever came before it.
class TimedActs
  PIECES = Array.new(12) { |i| :"piece_#{i}" }.freeze
  MICROSECONDS = PIECES.to_h { |name| [name, 400] }.merge(
    burn: 6000, long: 3000, middle: 1000, short: 300, often: 2000, seldom: 2000, labelled: 1500
  ).freeze
  ENDPOINTS = 204

  MICROSECONDS.each do |name, us|
    class_eval "def #{name} = (i = 0; turns = @turns_a_ms * #{us} / 1000; i += 1 while i < turns)", __FILE__, __LINE__
  end

  # @param program [Symbol] one of the methods below
  def initialize(program:, threads: 1)
    @program = program
    @threads = threads
  end

  def prepare
    @bytes = Random.new(1).bytes(300_000)
    @turns_a_ms = 10_000
    3.times { @turns_a_ms = @turns_a_ms * 3_000_000 / cpu_of { long } } # YJIT compiles meanwhile
  end

  # @param count [Numeric] seconds
  # @return [Hash{Symbol => Integer}] ns of CPU time of each act
  def run(count)
    @end = now + count
    __send__(@program).reduce { |all, more| all.merge(more) { |_, a, b| a + b } }
  end

  private

  # A request does some work after each of its queries.
  def naps_and_pieces
    repeat do |sums|
      sleep(rand(0.002..0.006))
      PIECES.each { |name| spend(name, sums) }
    end
  end

  def zlib_beside_naps
    repeat do |sums|
      sums[:deflate] += cpu_of { Zlib.deflate(@bytes, 1) }
      sums[:sleep] += cpu_of { sleep(0.002) }
      spend(:burn, sums)
    end
  end

  def short_acts
    repeat do |sums|
      %i[long middle short].each do |name|
        sleep(rand(0.03..0.2))
        spend(name, sums)
      end
    end
  end

  def thread_for_each
    sums = []
    while now < @end
      name = sums.size % 4 == 0 ? :seldom : :often
      sums << Thread.new { { name => cpu_of { __send__(name) } } }.value
    end
    sums
  end

  def label_sets
    endpoints = (0...ENDPOINTS).cycle
    repeat { |sums| with_label(endpoints.next) { spend(:labelled, sums) } }
  end

  def with_label(endpoint, &)
    if defined?(RperfPush.label)
      RperfPush.label(endpoint:, &)
    elsif defined?(Pyroscope.tag_wrapper)
      Pyroscope.tag_wrapper({ endpoint: endpoint.to_s }, &)
    else
      yield
    end
  end

  # The block again and again, on each thread: the sums of each.
  def repeat
    Array.new(@threads) do
      Thread.new do
        sums = Hash.new(0)
        yield sums while now < @end
        sums
      end
    end.map(&:value)
  end

  def spend(name, sums) = sums[name] += cpu_of { __send__(name) }

  def cpu_of
    before = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    yield
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - before
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
