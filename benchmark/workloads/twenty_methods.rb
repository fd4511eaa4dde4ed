# frozen_string_literal: true

require "zlib"

# Ten methods in Ruby and ten in C, each known by its bare name, which take turns. It times them itself while they run, so
# that what a profiler says can be held against what was. Those in Ruby use only operators that call no method.
class TwentyMethods
  RUBY = %i[collatz fibonacci gcd_sum sieve_step mix_bits triangle digits_sum mandelbrot primes_upto bubble].freeze
  C = %i[sort flatten uniq transpose tr sum pow dump crc32 unpack].freeze
  ALL = (RUBY + C).freeze

  TURN = 0.0015 # seconds of CPU time that each method gets in a turn

  # @param slow [Symbol, nil] the method that takes longer, by the factor
  # @param threads [Integer] the methods are dealt out to so many
  def initialize(slow: nil, factor: 4, threads: 1)
    @slow = slow
    @factor = factor
    @threads = threads
  end

  def prepare
    random = Random.new(1)
    @numbers = Array.new(1200) { random.rand(1_000_000) }
    @nested = @numbers.each_slice(3).map { |slice| [slice, slice.dup] }
    @rows = @numbers.each_slice(30).to_a
    @text = Array.new(12_000) { random.rand(97..122).chr }.join
    @power = (1 << 521) - 1
    @binary = random.bytes(6000)
    @calls = ALL.to_h { |name| [name, calls_a_turn(name) * (name == @slow ? @factor : 1)] }
  end

  # @param count [Numeric] seconds
  # @return [Hash{Symbol => Integer}] ns of CPU time of each method
  def run(count)
    until_time = Process.clock_gettime(Process::CLOCK_MONOTONIC) + count
    hands = ALL.group_by.with_index { |_, at| at % @threads }.values
    times = hands.map { |names| Thread.new { take_turns(names, until_time) } }.map(&:value)
    times.reduce(:merge)
  end

  private

  def calls_a_turn(name)
    __send__(:"turn_#{name}", 60) # YJIT compiles meanwhile
    before = cpu
    __send__(:"turn_#{name}", 60)
    [(TURN * 1e9 * 60 / (cpu - before)).round, 1].max
  end

  def cpu = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

  def take_turns(names, until_time)
    times = names.to_h { |name| [name, 0] }
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < until_time
      names.each do |name|
        before = cpu
        __send__(:"turn_#{name}", @calls[name])
        times[name] += cpu - before
      end
    end
    times
  end

  RUBY.each do |name|
    class_eval "def turn_#{name}(calls) = (i = 0; (#{name}; i += 1) while i < calls)", __FILE__, __LINE__
  end

  {
    sort: "@numbers.sort", flatten: "@nested.flatten", uniq: "@numbers.uniq", transpose: "@rows.transpose",
    tr: "@text.tr('a-m', 'A-M')", sum: "@text.sum", pow: "@power.pow(@power - 2, @power + 18)", dump: "Marshal.dump(@rows)",
    crc32: "Zlib.crc32(@text)", unpack: "@binary.unpack('C*')"
  }.each do |name, call|
    class_eval "def turn_#{name}(calls) = (i = 0; (#{call}; i += 1) while i < calls)", __FILE__, __LINE__
  end

  def collatz
    steps = 0
    n = 77_031
    while n != 1
      n = n % 2 == 1 ? (3 * n) + 1 : n / 2
      steps += 1
    end
    steps
  end

  def fibonacci
    a = 0
    b = 1
    i = 0
    while i < 800
      a, b = b, (a + b) & 0xffffffff
      i += 1
    end
    a
  end

  def gcd_sum
    sum = 0
    i = 1
    while i < 60
      a = 720_720
      b = i
      a, b = b, a % b while b != 0
      sum += a
      i += 1
    end
    sum
  end

  def sieve_step
    bits = 0
    i = 2
    while i < 700
      bits = (bits + (i * i)) & 0xffff
      i += 1
    end
    bits
  end

  def mix_bits
    x = 12_345
    i = 0
    while i < 500
      x = ((x * 75) + 74) & 0xffffff
      x = (x & 0xfff0) | (i & 15)
      i += 1
    end
    x
  end

  def triangle
    sum = 0
    i = 0
    while i < 900
      sum += i * (i + 1) / 2
      i += 1
    end
    sum
  end

  def digits_sum
    sum = 0
    i = 1000
    while i < 1150
      n = i
      while n > 0
        sum += n % 10
        n /= 10
      end
      i += 1
    end
    sum
  end

  def mandelbrot
    x = y = 0.0
    i = 0
    while i < 300
      x, y = (x * x) - (y * y) - 0.1, (2.0 * x * y) + 0.6
      i += 1
    end
    x
  end

  def primes_upto
    found = 0
    n = 3
    while n < 180
      d = 3
      d += 2 while d * d <= n && n % d != 0
      found += 1 if d * d > n
      n += 2
    end
    found
  end

  def bubble
    a = [9, 4, 7, 1, 8, 2, 6, 3, 5, 0, 19, 14, 17, 11, 18, 12, 16, 13, 15, 10]
    i = 0
    while i < 19
      j = 0
      while j < 19 - i
        a[j], a[j + 1] = a[j + 1], a[j] if a[j] > a[j + 1]
        j += 1
      end
      i += 1
    end
    a
  end
end
